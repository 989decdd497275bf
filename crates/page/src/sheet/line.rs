//! The record of an entry: the positions of its events and data that does not need them. No text.

use switchboard_event::{Id, Timestamp, Usage};

use super::{EntryKind, EntryStage};

/// The record of an entry.
#[derive(Clone, Debug)]
pub struct EntryRecord {
    pub kind: EntryKind,
    pub stage: EntryStage,
    /// The ID of the item or the request, or a generated one.
    pub id: Id,
    pub first: u64,
    pub last: u64,
    /// The event with its current content, while it is open.
    pub base: u64,
    pub done: Option<u64>,
    /// The latest event that did more than add text.
    pub stamp: u64,
    /// The start time.
    pub at: Timestamp,
    pub parent: Option<u32>,
    pub turn: Option<u32>,
    /// The approximate number of lines.
    pub size: u32,
    /// The number of similar events that it represents.
    pub count: u32,
    /// The usage of a turn.
    pub usage: Option<Box<Usage>>,
    /// Of little interest: similar notices may be joined to it.
    pub quiet: bool,
    /// The event with which the growing text started.
    pub(super) seeded: u64,
}

impl EntryRecord {
    pub(super) fn new(kind: EntryKind, stage: EntryStage, id: Id, event: &switchboard_event::Event) -> Self {
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
            usage: None,
            quiet: false,
            seeded: event.seq,
        }
    }
}
