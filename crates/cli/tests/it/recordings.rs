//! Every agent is tested with what it really says.

use std::collections::BTreeSet;

use switchboard_agents::SOURCES;
use switchboard_testkit::recording::load_recordings;

use crate::verdict::verdict;

#[test]
fn every_source_has_recordings() {
    let recorded: BTreeSet<_> = load_recordings().unwrap().iter().map(|recording| recording.source.name).collect();
    let all = SOURCES.iter().copied().flatten();
    verdict("sources without recordings", all.map(|source| source.name).filter(|name| !recorded.contains(name)));
}

#[test]
fn no_two_recordings_are_the_same() {
    let mut seen = BTreeSet::new();
    let recordings = load_recordings().unwrap();
    verdict(
        "recorded twice",
        recordings.iter().filter(|recording| !seen.insert((recording.source.name, &recording.bytes))),
    );
}
