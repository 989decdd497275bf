//! What the model says to one request, before it is put into the words of an API.

use std::time::Duration;

use serde_json::Value;

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Its parts, in order.
    pub pieces: Vec<Piece>,
    /// Why it ends.
    pub end: End,
    /// What it cost.
    pub usage: Usage,
    /// How long to wait between chunks.
    pub pace: Duration,
    /// The connection breaks off in the middle.
    pub cut: bool,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Thinking.
    Think(String),
    /// Text, in the pieces in which it is sent.
    Text(Vec<Bit>),
    /// A tool is called.
    Tool {
        /// The id of the call: no other call of this model has it.
        id: String,
        /// The tool.
        name: String,
        /// What it is called with. A string is the input of a free-form tool.
        input: Value,
    },
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bit {
    /// Some text.
    Say(String),
    /// Nothing, until the test says so.
    Hold,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Everything is said; or the tools are to be run.
    #[default]
    Done,
    /// The limit of tokens.
    Length,
    /// It refuses.
    Refusal,
}

/// What an answer cost, in tokens. Each API counts in its own way; this is what is meant by all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read, without what came from the cache or went into it.
    pub input: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache. Only the API that has a price for it says so; with the others it is zero.
    pub cache_write: u64,
    /// Written, thinking included.
    pub output: u64,
    /// Of that, thinking.
    pub reasoning: u64,
}

impl Usage {
    /// What the answer to request number `step` of a turn (from 0) costs. Every step costs a little more, so that a
    /// sum, a last value and a doubled one can be told apart.
    #[must_use]
    pub fn of(step: usize, thinks: bool) -> Self {
        let step = u64::try_from(step).unwrap_or(0);
        let reasoning = if thinks { 7 } else { 0 };
        Self { input: 100 + 10 * step, cache_read: 40, cache_write: 0, output: 20 + 3 * step + reasoning, reasoning }
    }
}

impl Answer {
    /// An answer of one text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let pieces = vec![Piece::Text(vec![Bit::Say(text.to_owned())])];
        Self { pieces, usage: Usage::of(0, false), ..Self::default() }
    }

    /// Its text, thinking aside.
    #[must_use]
    pub fn words(&self) -> String {
        self.pieces.iter().filter_map(Piece::text).collect()
    }

    /// A tool is called.
    #[must_use]
    pub fn calls(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Tool { .. }))
    }
}

impl Piece {
    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Text(bits) => Some(bits.iter().filter_map(Bit::said).collect()),
            Self::Think(_) | Self::Tool { .. } => None,
        }
    }
}

impl Bit {
    /// What is said, if anything.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        match self {
            Self::Say(text) => Some(text),
            Self::Hold => None,
        }
    }
}

/// A text in the chunks in which it is sent: a word each, with the space behind it.
pub fn chunks(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}
