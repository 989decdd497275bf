//! A portion: what reading a stretch of a log gave. It is written in one transaction with how far was read, so that
//! nothing is missing and nothing there twice, whenever whoever reads is killed.

use switchboard_agents::{Depth, Facts};

use super::press::Stored;

/// What reading a stretch of a log gave.
pub struct Portion {
    /// The log.
    pub unit: i64,
    /// What its version must be; otherwise somebody else was quicker.
    pub version: i64,
    /// What it was read for.
    pub depth: Depth,
    /// The log is read anew: what was known of it goes.
    pub fresh: bool,
    /// The log could not be read: what is known of it stays, and only what is wrong is news.
    pub is_kept: bool,
    /// How far it was read.
    pub at: u64,
    /// How many bytes were read now.
    pub read: u64,
    /// How many records.
    pub records: u64,
    /// Replies, packed; empty if there are none.
    pub spent: Vec<u8>,
    /// Blocks of text.
    pub blocks: Vec<Stored>,
    /// A block that the first of them takes the place of.
    pub replaces: Option<i64>,
    /// The records themselves, compressed, and where they begin.
    pub raw: Option<(u64, Vec<u8>)>,
    /// What could not be read: what, where, how often.
    pub troubles: Vec<(String, Option<u64>, u64)>,
    /// All that is known about the session.
    pub facts: Facts,
    /// What to go on with.
    pub state: Vec<u8>,
    /// When the last record happened.
    pub time: i64,
    /// What the bytes that were read began and ended with, where that can be told.
    pub mark: Option<Vec<u8>>,
    /// The log was read to its end.
    pub end: Option<End>,
}

impl Portion {
    /// Nothing yet.
    pub fn new(unit: i64, version: i64, depth: Depth) -> Self {
        Self {
            unit,
            version,
            depth,
            fresh: false,
            is_kept: false,
            at: 0,
            read: 0,
            records: 0,
            spent: Vec::new(),
            blocks: Vec::new(),
            replaces: None,
            raw: None,
            troubles: Vec::new(),
            facts: Facts::default(),
            state: Vec::new(),
            time: 0,
            mark: None,
            end: None,
        }
    }
}

/// The end of a log, for now.
pub struct End {
    /// What the file was.
    pub seen: Option<String>,
    /// Bytes behind the last whole record.
    pub torn: u64,
    /// The session, if the log's name did not say it.
    pub session: Option<String>,
    /// The session that it is a part of, if the log's name did not say it.
    pub parent: Option<String>,
}
