//! Applies a filter to logs, replies and sessions.

use std::{collections::HashSet, sync::Arc};

use switchboard_event::Timestamp;

use crate::{LogFilter, ask::contains_ignore_case, index::units::LogUnit};

/// A filter resolved against the known logs.
pub struct UnitFilter {
    /// Logs that can match; the models and directories of replies are checked individually.
    units: HashSet<i64, foldhash::fast::FixedState>,
    project: Option<String>,
    model: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl UnitFilter {
    pub fn new(filter: &LogFilter, units: &[Arc<LogUnit>]) -> Self {
        let fits = |unit: &&Arc<LogUnit>| {
            filter.has_agent(&unit.agent)
                && filter.has_machine(unit.machine.as_deref())
                && contains_ignore_case(filter.branch.as_deref(), unit.facts.branch.as_deref())
                && filter.session.as_deref().is_none_or(|id| unit.session == id || unit.parent.as_deref() == Some(id))
        };
        Self {
            units: units.iter().filter(fits).map(|unit| unit.id).collect(),
            project: filter.project.as_deref().map(str::to_lowercase),
            model: filter.model.as_deref().map(str::to_lowercase),
            since: filter.since,
            until: filter.until,
        }
    }

    /// Returns whether the log can contain matches.
    pub fn matches_unit(&self, id: i64) -> bool {
        self.units.contains(&id)
    }

    /// Returns whether the working directory matches.
    pub fn matches_project(&self, path: &str) -> bool {
        contains_ignore_case(self.project.as_deref(), Some(path))
    }

    /// Returns whether the model matches.
    pub fn matches_model(&self, model: &str) -> bool {
        contains_ignore_case(self.model.as_deref(), Some(model))
    }

    /// Returns whether the time matches.
    pub fn matches_time(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    /// Returns whether a session matches, with any of its activity in the time range.
    pub fn matches_session(&self, unit: &LogUnit) -> bool {
        let facts = &unit.facts;
        self.matches_unit(unit.id)
            && self.matches_project(facts.cwd.as_deref().unwrap_or_default())
            && self.matches_model(facts.model.as_deref().unwrap_or_default())
            && self.since.is_none_or(|since| facts.updated.or(facts.began).is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| facts.began.or(facts.updated).is_some_and(|at| at < until))
    }
}
