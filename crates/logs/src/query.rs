//! Filters and queries over logs, and the results of a search.

use std::{ops::Range, path::PathBuf};

use switchboard_agents::{PassageKind, SessionFacts};
use switchboard_event::Timestamp;

/// Selects sessions, replies and passages. The default selects everything.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    pub agents: Vec<String>,
    /// Substring of the working directory, ignoring case.
    pub project: Option<String>,
    /// Substring of the model name, ignoring case.
    pub model: Option<String>,
    /// Substring of the branch name, ignoring case.
    pub branch: Option<String>,
    /// Name of the machine as given with `--as`; the empty name is this machine.
    pub machine: Option<String>,
    /// Restricts the selection to this session and its subagents.
    pub session: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl LogFilter {
    /// Returns whether the filter includes the agent.
    #[must_use]
    pub fn has_agent(&self, agent: &str) -> bool {
        self.agents.is_empty() || self.agents.iter().any(|meant| meant == agent)
    }

    /// Returns whether the filter includes the machine.
    #[must_use]
    pub fn has_machine(&self, machine: Option<&str>) -> bool {
        self.machine.as_deref().is_none_or(|meant| machine.unwrap_or_default() == meant)
    }

    /// Returns whether a session matches in everything but its time.
    #[must_use]
    pub fn matches_session(&self, agent: &str, machine: Option<&str>, facts: &SessionFacts) -> bool {
        self.has_agent(agent)
            && self.has_machine(machine)
            && contains_ignore_case(self.project.as_deref(), facts.cwd.as_deref())
            && contains_ignore_case(self.model.as_deref(), facts.model.as_deref())
            && contains_ignore_case(self.branch.as_deref(), facts.branch.as_deref())
    }
}

/// Returns whether `found` contains `wanted`, ignoring case. No `wanted` matches everything.
pub(crate) fn contains_ignore_case(wanted: Option<&str>, found: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| found.is_some_and(|found| found.to_lowercase().contains(&wanted.to_lowercase())))
}

#[derive(Clone, Debug)]
pub struct LogSearchQuery {
    pub words: SearchWords,
    /// Kinds of passages to search; empty searches all.
    pub kinds: Vec<PassageKind>,
    pub filter: LogFilter,
    /// Maximum number of hits, best first.
    pub limit: usize,
}

/// The search expression.
#[derive(Clone, Debug)]
pub enum SearchWords {
    /// All of these words and `"quoted phrases"`, ignoring case. A word with a trailing `*` is a prefix.
    Plain(String),
    /// A regular expression.
    Regex(String),
}

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
