//! Checkpoints of projections: a reader of a session can start at one without reading all earlier events. The state is
//! opaque; only the dialect understands it. Unrelated to SQLite's checkpoints of the write-ahead log.

use std::fmt;

/// The state of a projection at a position of a session.
#[derive(Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The dialect.
    pub dialect: String,
    /// The dialect's version; a state is useless to other versions.
    pub version: String,
    /// The last event that the projection has seen.
    pub seq: u64,
    /// The number of messages that the projection has produced.
    pub messages: u64,
    /// The serialized state.
    pub state: Vec<u8>,
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dialect, version, seq, messages, state } = self;
        write!(f, "{dialect} {version} at event {seq}, message {messages}, {} bytes", state.len())
    }
}

/// A position in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointPosition {
    /// After this event.
    Seq(u64),
    /// After this number of messages of the dialect.
    Message(u64),
}
