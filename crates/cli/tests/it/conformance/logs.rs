//! Session logs: the quick way through them and the long one.

use switchboard_agents::{LOGS, find_source};
use switchboard_testkit::skimmed;

use super::Suite;
use crate::verdict::verdict;

#[test]
fn skimming_and_reading_agree() {
    Suite::new().each("session logs", |recording| skimmed::check_log_scan(recording).err().into_iter().collect());
}

#[test]
fn logs_are_read_by_a_source_of_their_agent() {
    let lost = LOGS.iter().filter(|logs| find_source(logs.source).is_none_or(|source| source.agent != logs.agent));
    verdict("logs without a source", lost.map(|logs| logs.agent));
}

#[test]
fn logs_of_an_agent_are_found_among_its_recordings() {
    let recordings = Suite::new().recordings;
    let known = |agent: &str| {
        recordings.iter().any(|recording| recording.log.as_ref().is_some_and(|(logs, _)| logs.agent == agent))
    };
    verdict("logs without recordings", LOGS.iter().map(|logs| logs.agent).filter(|agent| !known(agent)));
}
