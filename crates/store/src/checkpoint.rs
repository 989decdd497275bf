//! Saved projections: where a reader of a session can begin without reading all that came before. What a state means,
//! only the dialect knows. Not to be taken for moving the write-ahead log, which SQLite calls a checkpoint too.

use std::fmt;

/// A projection as it was at a place of a session.
#[derive(Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The dialect.
    pub dialect: String,
    /// The dialect's version; a state is of no use to another.
    pub version: String,
    /// The last event that the projection has seen.
    pub seq: u64,
    /// How many messages it has given.
    pub messages: u64,
    /// What it remembers.
    pub state: Vec<u8>,
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dialect, version, seq, messages, state } = self;
        write!(f, "{dialect} {version} at event {seq}, message {messages}, {} bytes", state.len())
    }
}

/// A place in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Behind this event.
    Seq(u64),
    /// Behind so many messages of the dialect.
    Message(u64),
}
