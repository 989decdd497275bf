//! Results of a search.

use std::{ops::Range, path::PathBuf};

use switchboard_agents::PassageKind;
use switchboard_event::Timestamp;

/// The hits of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// Best first.
    pub hits: Vec<SearchHit>,
    /// There are more hits than the limit.
    pub more: bool,
}

/// A passage that matches the query.
#[derive(Clone, Debug)]
pub struct SearchHit {
    pub session: String,
    pub agent: String,
    /// The machine, unless it is this one.
    pub machine: Option<String>,
    /// The working directory.
    pub project: Option<String>,
    /// The subagent that wrote the passage, if any.
    pub subagent: Option<String>,
    pub at: Option<Timestamp>,
    pub kind: PassageKind,
    pub tool: Option<String>,
    /// Counts from 1; 0 before the first prompt. Subagents have turns of their own.
    pub turn: u32,
    /// The text around the matches.
    pub snippet: String,
    /// Byte ranges of the matches in the snippet.
    pub marks: Vec<Range<usize>>,
    pub path: PathBuf,
    /// Byte offset of the record in the file; in a database, the number of the record.
    pub offset: u64,
    /// Higher is better.
    pub score: f64,
}
