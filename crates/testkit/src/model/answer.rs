//! The model's answer to one request, independent of the API.

use std::time::Duration;

use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    pub pieces: Vec<AnswerPiece>,
    pub end: AnswerEnd,
    pub usage: ModelUsage,
    /// Pause between chunks.
    pub pace: Duration,
    /// The connection breaks in the middle.
    pub cut: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AnswerPiece {
    Think(String),
    /// Text, in the chunks in which it is sent.
    Text(Vec<AnswerTextChunk>),
    Tool {
        /// Unique among all calls of this model.
        id: String,
        name: String,
        /// A string is the input of a free-form tool.
        input: Value,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerTextChunk {
    Say(String),
    /// Waits until the test releases it.
    Hold,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerEnd {
    /// Complete, or waiting for tool results.
    #[default]
    Done,
    /// Token limit.
    Length,
    Refusal,
}

/// Tokens of an answer, independent of how an API counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelUsage {
    /// Without tokens read from or written to the cache.
    pub input: u64,
    pub cache_read: u64,
    /// Zero for APIs that do not report it.
    pub cache_write: u64,
    /// Includes reasoning.
    pub output: u64,
    pub reasoning: u64,
}

impl ModelUsage {
    /// Returns the usage of request number `step` of a turn, from 0. It grows with every step, so that a sum, a last
    /// value and a doubled one can be distinguished.
    #[must_use]
    pub fn for_step(step: usize, thinks: bool) -> Self {
        let step = u64::try_from(step).unwrap_or(0);
        let reasoning = if thinks { 7 } else { 0 };
        Self { input: 100 + 10 * step, cache_read: 40, cache_write: 0, output: 20 + 3 * step + reasoning, reasoning }
    }
}

impl ModelAnswer {
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let pieces = vec![AnswerPiece::Text(vec![AnswerTextChunk::Say(text.to_owned())])];
        Self { pieces, usage: ModelUsage::for_step(0, false), ..Self::default() }
    }

    /// Returns the text without reasoning.
    #[must_use]
    pub fn joined_text(&self) -> String {
        self.pieces.iter().filter_map(AnswerPiece::joined_text).collect()
    }

    #[must_use]
    pub fn has_tool_calls(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, AnswerPiece::Tool { .. }))
    }
}

impl AnswerPiece {
    #[must_use]
    pub fn joined_text(&self) -> Option<String> {
        match self {
            Self::Text(bits) => Some(bits.iter().filter_map(AnswerTextChunk::chunk_text).collect()),
            Self::Think(_) | Self::Tool { .. } => None,
        }
    }
}

impl AnswerTextChunk {
    #[must_use]
    pub fn chunk_text(&self) -> Option<&str> {
        match self {
            Self::Say(text) => Some(text),
            Self::Hold => None,
        }
    }
}

/// Splits a text into the chunks in which it is sent: one word each, with its trailing space.
pub fn word_chunks(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}
