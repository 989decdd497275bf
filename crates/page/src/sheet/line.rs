//! What is remembered of an entry: where its events are, and what does not need them. No text.

use switchboard_event::{Id, Timestamp};

use super::{Kind, Stage, Sums};

/// What is remembered of an entry.
#[derive(Clone, Debug)]
pub struct Line {
    /// What it is.
    pub kind: Kind,
    /// How far it got.
    pub stage: Stage,
    /// Its id: that of the item or the request, or one that is made up.
    pub id: Id,
    /// Its first event.
    pub first: u64,
    /// Its latest event.
    pub last: u64,
    /// The event that says what it is, while it is open.
    pub base: u64,
    /// The event that finished it.
    pub done: Option<u64>,
    /// The latest event that did more than add text to it.
    pub stamp: u64,
    /// When it began.
    pub at: Timestamp,
    /// The entry of the subagent that it belongs to.
    pub parent: Option<u32>,
    /// The turn that it belongs to.
    pub turn: Option<u32>,
    /// About how many lines it has.
    pub size: u32,
    /// How many events it stands for, if it stands for several that are alike.
    pub count: u32,
    /// What a turn used.
    pub sums: Option<Box<Sums>>,
    /// It is of little interest: others like it may join it.
    pub quiet: bool,
    /// The event with which its text began.
    pub(super) seeded: u64,
    /// It has grown by text that was not looked at.
    pub(super) unread: bool,
}

impl Line {
    /// An entry that begins.
    pub(super) fn new(kind: Kind, stage: Stage, id: Id, event: &switchboard_event::Event) -> Self {
        Self {
            kind,
            stage,
            id,
            first: event.seq,
            last: event.seq,
            base: event.seq,
            done: None,
            stamp: event.seq,
            at: event.at,
            parent: None,
            turn: event.turn,
            size: 1,
            count: 1,
            sums: None,
            quiet: false,
            seeded: event.seq,
            unread: false,
        }
    }
}
