//! A batch: the content read from a range of a log. It is written in one transaction with the new read position, so
//! that nothing is lost or duplicated if the reader is killed.

use switchboard_agents::{ScanDepth, SessionFacts};

use super::press::EncodedBlock;

/// The content read from a range of a log.
pub struct IndexBatch {
    pub unit: i64,
    /// The expected version of the log; if it differs, another writer was faster.
    pub version: i64,
    /// What the log was read for.
    pub depth: ScanDepth,
    /// The log is read from the beginning: its previous content is deleted.
    pub fresh: bool,
    /// The log could not be read: its previous content stays, and only errors are added.
    pub is_kept: bool,
    /// The read position.
    pub at: u64,
    /// The number of bytes read in this batch.
    pub read: u64,
    pub records: u64,
    /// Encoded replies; empty if there are none.
    pub spent: Vec<u8>,
    pub blocks: Vec<EncodedBlock>,
    /// A block that the first of `blocks` replaces.
    pub replaces: Option<i64>,
    /// The raw records, compressed, and their offset.
    pub raw: Option<(u64, Vec<u8>)>,
    /// Read errors: message, offset, count.
    pub troubles: Vec<(String, Option<u64>, u64)>,
    pub facts: SessionFacts,
    /// Scanner state for resuming.
    pub state: Vec<u8>,
    /// The time of the last record.
    pub time: i64,
    /// Fingerprint of the bytes read so far, if the form of the log allows one.
    pub mark: Option<Vec<u8>>,
    /// Set if the log was read to its end.
    pub end: Option<LogEnd>,
}

impl IndexBatch {
    /// Creates an empty batch.
    pub fn new(unit: i64, version: i64, depth: ScanDepth) -> Self {
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
            facts: SessionFacts::default(),
            state: Vec::new(),
            time: 0,
            mark: None,
            end: None,
        }
    }
}

pub struct LogEnd {
    /// State of the file, to detect changes.
    pub seen: Option<String>,
    /// Bytes after the last complete record.
    pub torn: u64,
    /// The session, if the file name does not contain it.
    pub session: Option<String>,
    /// The parent session, if the file name does not contain it.
    pub parent: Option<String>,
}
