//! What a search finds.

use std::{ops::Range, path::PathBuf};

use switchboard_agents::Kind;
use switchboard_event::Timestamp;

/// The answer to a search.
#[derive(Clone, Debug, Default)]
pub struct Hits {
    /// The best of them, best first.
    pub hits: Vec<Hit>,
    /// There are more.
    pub more: bool,
}

/// One passage that has what was searched for.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// The machine, if it is another one.
    pub machine: Option<String>,
    /// The folder that was worked in.
    pub project: Option<String>,
    /// The subagent that it was said by, if it was one.
    pub subagent: Option<String>,
    /// When it was said.
    pub at: Option<Timestamp>,
    /// What it is.
    pub kind: Kind,
    /// The tool.
    pub tool: Option<String>,
    /// The turn in which it was said, from 1; 0 before the first prompt. A subagent has turns of its own.
    pub turn: u32,
    /// A piece of the text around what was found.
    pub snippet: String,
    /// Where in the snippet it is, in bytes.
    pub marks: Vec<Range<usize>>,
    /// The file.
    pub path: PathBuf,
    /// Where in the file the record begins, in bytes; in a database, the number of the record.
    pub offset: u64,
    /// How good it is: larger is better.
    pub score: f64,
}
