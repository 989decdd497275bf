//! A running session at this moment.

use std::path::PathBuf;

use switchboard_agents::SessionFacts;
use switchboard_event::{Id, Timestamp};

use super::{doing::SessionActivity, used::SessionUsage};
use crate::LogFilter;

/// A running session.
#[derive(Clone, Debug, Default)]
pub struct RunningSession {
    /// The agent's ID, or Switchboard's if it has none.
    pub id: String,
    pub agent: String,
    /// The machine, unless it is this one.
    pub machine: Option<String>,
    pub facts: SessionFacts,
    /// The main log file.
    pub path: Option<PathBuf>,
    /// Switchboard's ID, if Switchboard runs the session.
    pub own: Option<Id>,
    /// The current activity.
    pub activity: SessionActivity,
    /// When the activity began.
    pub since: Option<Timestamp>,
    /// When the session was last written.
    pub updated: Timestamp,
    /// The activity of the subagent that wrote last.
    pub inner: Option<SessionActivity>,
    /// The number of working subagents.
    pub subagents: usize,
    /// The usage of all replies, each counted once.
    pub used: SessionUsage,
}

impl RunningSession {
    /// Returns whether the ID or prefix means this session. Switchboard's ID works too.
    #[must_use]
    pub fn matches_id(&self, id: &str) -> bool {
        self.id.starts_with(id) || self.own.as_ref().is_some_and(|own| own.starts_with(id))
    }

    /// Returns whether the session matches the filter.
    #[must_use]
    pub fn matches_filter(&self, filter: &LogFilter) -> bool {
        filter.matches_session(&self.agent, self.machine.as_deref(), &self.facts)
    }
}
