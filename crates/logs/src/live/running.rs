//! One session that runs, as it is at this moment.

use std::path::PathBuf;

use switchboard_agents::Facts;
use switchboard_event::{Id, Timestamp};

use super::{doing::Activity, used::Used};
use crate::Filter;

/// A session that runs.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// The agent's own id of it, or Switchboard's if it has none.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The machine, if it is another one.
    pub machine: Option<String>,
    /// What is known about it.
    pub facts: Facts,
    /// The file that it lies in.
    pub path: Option<PathBuf>,
    /// Switchboard runs it, under this id.
    pub own: Option<Id>,
    /// What it is doing.
    pub activity: Activity,
    /// Since when.
    pub since: Option<Timestamp>,
    /// When something of it was written last.
    pub updated: Timestamp,
    /// What its busiest subagent is doing.
    pub inner: Option<Activity>,
    /// How many of its subagents are at work.
    pub subagents: usize,
    /// What the replies of all models came to, each counted once.
    pub used: Used,
}

impl Running {
    /// An id, the beginning of one, or Switchboard's, can mean it.
    #[must_use]
    pub fn is(&self, id: &str) -> bool {
        self.id.starts_with(id) || self.own.as_ref().is_some_and(|own| own.starts_with(id))
    }

    /// It is whose the filter says.
    #[must_use]
    pub fn fits(&self, filter: &Filter) -> bool {
        filter.fits(&self.agent, self.machine.as_deref(), &self.facts)
    }
}
