//! Filters and queries over logs, and the results of a search.

use std::ops::Range;
use std::path::{Path, PathBuf};

use switchboard_agents::{AgentLogs, HostAccess, LOGS, PassageKind, SessionFacts};
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

/// An agent's directory with its logs.
#[derive(Clone)]
pub struct AgentHome {
    pub logs: &'static AgentLogs,
    pub folder: PathBuf,
    /// The machine it comes from, unless it is this one.
    pub machine: Option<String>,
}

/// Returns the existing agent directories: those of this machine if none are named. A named home is a user's home
/// directory, or an agent's own directory.
#[must_use]
pub fn find_homes(host: &dyn HostAccess, named: &[PathBuf], machine: Option<&str>) -> Vec<AgentHome> {
    let mut homes = candidate_homes(host, named, machine);
    homes.retain(AgentHome::has_logs);
    homes
}

/// Returns all possible agent directories, existing or not.
#[must_use]
pub fn candidate_homes(host: &dyn HostAccess, named: &[PathBuf], machine: Option<&str>) -> Vec<AgentHome> {
    let of_machine = |logs: &'static AgentLogs| {
        if named.is_empty() { (logs.homes)(host) } else { candidate_directories(logs, named) }
    };
    let found = LOGS.iter().flat_map(|logs| of_machine(logs).into_iter().map(move |folder| (logs, folder)));
    let mut homes: Vec<AgentHome> = Vec::new();
    for (logs, folder) in found {
        let folder = folder.canonicalize().unwrap_or(folder);
        let known = homes.iter().any(|home| home.logs.agent == logs.agent && home.folder == folder);
        if !known {
            homes.push(AgentHome { logs, folder, machine: machine.map(str::to_owned) });
        }
    }
    homes
}

fn candidate_directories(logs: &AgentLogs, named: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |home: &PathBuf| logs.below.iter().map(|below| home.join(below)).collect::<Vec<_>>();
    named.iter().flat_map(|home| [inside(home), vec![home.clone()]].concat()).collect()
}

impl AgentHome {
    /// Returns whether the directory contains logs, or cannot be read.
    #[must_use]
    pub fn has_logs(&self) -> bool {
        self.logs
            .folders
            .iter()
            .any(|inner| expand_pattern(&self.folder, inner).iter().any(|path| path.try_exists().unwrap_or(true)))
    }
}

/// Returns the paths in a directory that match a name. A `*` in a file name matches anything.
pub fn expand_pattern(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Some((before, behind)) = name.split_once('*') else {
        return vec![folder.join(name)];
    };
    let fits = |name: &str| name.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)).is_some();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(fits));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    // The order of directory entries differs between machines.
    paths.sort();
    paths
}
