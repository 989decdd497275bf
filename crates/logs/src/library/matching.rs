//! What fits a filter.

use std::{collections::HashSet, sync::Arc};

use switchboard_event::Timestamp;

use crate::{Filter, ask::has, index::units::Unit};

/// A filter over known logs.
pub struct Matching {
    /// The logs that can fit; the models and folders of replies are looked at one by one.
    units: HashSet<i64, foldhash::fast::FixedState>,
    project: Option<String>,
    model: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Matching {
    /// A filter over these logs.
    pub fn new(filter: &Filter, units: &[Arc<Unit>]) -> Self {
        let fits = |unit: &&Arc<Unit>| {
            filter.has_agent(&unit.agent)
                && filter.has_machine(unit.machine.as_deref())
                && has(filter.branch.as_deref(), unit.facts.branch.as_deref())
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

    /// The log can have what fits.
    pub fn unit(&self, id: i64) -> bool {
        self.units.contains(&id)
    }

    /// The folder fits.
    pub fn project(&self, path: &str) -> bool {
        has(self.project.as_deref(), Some(path))
    }

    /// The model fits.
    pub fn model(&self, model: &str) -> bool {
        has(self.model.as_deref(), Some(model))
    }

    /// The time fits.
    pub fn at(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    /// A session fits: something of it happened in the time.
    pub fn session(&self, unit: &Unit) -> bool {
        let facts = &unit.facts;
        self.unit(unit.id)
            && self.project(facts.cwd.as_deref().unwrap_or_default())
            && self.model(facts.model.as_deref().unwrap_or_default())
            && self.since.is_none_or(|since| facts.updated.or(facts.began).is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| facts.began.or(facts.updated).is_some_and(|at| at < until))
    }
}
