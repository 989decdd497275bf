//! Checks the invariants for every agent and every dialect. The test kit defines and checks them; this module provides
//! the streams.

mod hostile;
mod recorded;
mod streams;

use switchboard_agents::{LOGS, find_source};
use switchboard_testkit::ledger::InvariantViolation;
use switchboard_testkit::recording::{Recording, load_recordings};
use switchboard_testkit::stream_checker::StreamChecker;
use switchboard_testkit::{log_scan, parallel};

use crate::verdict;

/// The recordings and the checker.
pub struct ConformanceSuite {
    pub checker: StreamChecker,
    pub recordings: Vec<Recording>,
}

impl ConformanceSuite {
    pub fn new() -> Self {
        Self { checker: StreamChecker::new().unwrap(), recordings: load_recordings().unwrap() }
    }

    /// Checks every recording, on all cores.
    #[track_caller]
    pub fn each(&self, what: &str, check: impl Fn(&Recording) -> Vec<InvariantViolation> + Sync) {
        let found = parallel::map(&self.recordings, |recording| {
            let named = |broken: InvariantViolation| format!("{recording}: {broken}");
            check(recording).into_iter().map(named).collect::<Vec<_>>()
        });
        verdict(what, found.into_iter().flatten());
    }
}

#[test]
fn skimming_and_reading_agree() {
    ConformanceSuite::new()
        .each("session logs", |recording| log_scan::check_log_scan(recording).err().into_iter().collect());
}

#[test]
fn logs_are_read_by_a_source_of_their_agent() {
    let lost = LOGS.iter().filter(|logs| find_source(logs.source).is_none_or(|source| source.agent != logs.agent));
    verdict("logs without a source", lost.map(|logs| logs.agent));
}

#[test]
fn logs_of_an_agent_are_found_among_its_recordings() {
    let recordings = ConformanceSuite::new().recordings;
    let known = |agent: &str| {
        recordings.iter().any(|recording| recording.log.as_ref().is_some_and(|(logs, _)| logs.agent == agent))
    };
    verdict("logs without recordings", LOGS.iter().map(|logs| logs.agent).filter(|agent| !known(agent)));
}
