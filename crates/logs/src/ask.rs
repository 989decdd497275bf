//! What can be asked for.

use switchboard_agents::{Facts, Kind};
use switchboard_event::Timestamp;

/// Which sessions, replies and passages are meant. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of these agents; none means of any.
    pub agents: Vec<String>,
    /// In folders whose path has this in it, whatever its case.
    pub project: Option<String>,
    /// With models whose name has this in it.
    pub model: Option<String>,
    /// On branches whose name has this in it.
    pub branch: Option<String>,
    /// Of the machine that was given this name (`--as`); the empty name is this machine.
    pub machine: Option<String>,
    /// Of this session alone, with its subagents.
    pub session: Option<String>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
}

impl Filter {
    /// The agent is one of those that are meant.
    #[must_use]
    pub fn has_agent(&self, agent: &str) -> bool {
        self.agents.is_empty() || self.agents.iter().any(|meant| meant == agent)
    }

    /// The machine is the one that is meant.
    #[must_use]
    pub fn has_machine(&self, machine: Option<&str>) -> bool {
        self.machine.as_deref().is_none_or(|meant| machine.unwrap_or_default() == meant)
    }

    /// Something is whose this says, whenever it was.
    #[must_use]
    pub fn fits(&self, agent: &str, machine: Option<&str>, facts: &Facts) -> bool {
        self.has_agent(agent)
            && self.has_machine(machine)
            && has(self.project.as_deref(), facts.cwd.as_deref())
            && has(self.model.as_deref(), facts.model.as_deref())
            && has(self.branch.as_deref(), facts.branch.as_deref())
    }
}

/// What is wanted is in what there is, whatever its case.
pub(crate) fn has(wanted: Option<&str>, found: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| found.is_some_and(|found| found.to_lowercase().contains(&wanted.to_lowercase())))
}

/// What to search for.
#[derive(Clone, Debug)]
pub struct Query {
    /// What must be there.
    pub words: Words,
    /// In which kinds of passages; none means in all.
    pub kinds: Vec<Kind>,
    /// Where.
    pub filter: Filter,
    /// So many hits at most, the best first.
    pub limit: usize,
}

/// What must be in a passage.
#[derive(Clone, Debug)]
pub enum Words {
    /// All of these words and `"phrases in quotation marks"`, whatever their case. A word with `*` at its end is the
    /// beginning of a word.
    Plain(String),
    /// What this regular expression matches.
    Regex(String),
}
