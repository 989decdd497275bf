//! On corpora whose truth is known, every figure is exact: by day in any time zone, by model, project, agent and session.

use std::{collections::BTreeMap, fmt::Debug};

use switchboard_testkit::corpus::{Truth, Wanted, calendar::ZONES};

use crate::place::{Place, by, by_day, by_session, hits, ledger, library, refresh};

/// Rows that differ, and nothing else: a corpus has hundreds.
#[track_caller]
fn same<T: Debug + PartialEq>(what: &str, found: &BTreeMap<String, T>, truth: &BTreeMap<String, T>) {
    let keys: std::collections::BTreeSet<_> = found.keys().chain(truth.keys()).collect();
    let wrong: Vec<_> = keys.into_iter().filter(|key| found.get(*key) != truth.get(*key)).collect();
    let show = |key: &&String| format!("{key}: found {:?}, truth {:?}", found.get(*key), truth.get(*key));
    assert!(
        wrong.is_empty(),
        "{} {what} differ:\n{}",
        wrong.len(),
        wrong.iter().take(6).map(show).collect::<Vec<_>>().join("\n")
    );
}

fn check(library: &switchboard_logs::Library, truth: &Truth) {
    let ledger = ledger(library);
    same("agents", &by(&ledger, |ledger, entry| ledger.name(entry.agent).to_owned()), &truth.agents);
    for zone in ZONES {
        same(zone, &by_day(&ledger, zone), &truth.days[*zone]);
    }
    same("models", &by(&ledger, |ledger, entry| ledger.name(entry.model).to_owned()), &truth.models);
    same("projects", &by(&ledger, |ledger, entry| ledger.name(entry.project).to_owned()), &truth.projects);
    same("sessions", &by_session(&ledger), &truth.sessions);
}

#[test]
fn every_day_model_project_agent_and_session_is_exact() {
    for seed in [1, 2, 3] {
        let (place, truth) = Place::with_corpus(&Wanted::small(seed));
        let (library, _) = place.current();
        check(&library, &truth);
    }
}

#[test]
fn tokens_alone_are_as_exact_as_with_all_text() {
    let (place, truth) = Place::with_corpus(&Wanted::small(4));
    let library = place.library();
    library.refresh(switchboard_agents::Depth::Tokens, &|_| {}).unwrap();
    check(&library, &truth);
    refresh(&library);
    check(&library, &truth);
}

#[test]
fn what_was_said_once_is_found_in_its_session() {
    let (place, truth) = Place::with_corpus(&Wanted::small(5));
    let (library, _) = place.current();
    assert_eq!(truth.rare.len(), truth.agents.len());
    for needle in &truth.rare {
        let found = hits(&library, &needle.word, 10);
        assert!(!found.is_empty() && found.iter().all(|session| *session == needle.session), "{needle:?}: {found:?}");
    }
    assert!(!hits(&library, &truth.common, 10).is_empty());
}

#[test]
fn a_second_look_reads_nothing_and_says_the_same() {
    let (place, truth) = Place::with_corpus(&Wanted::small(6));
    let (first, _) = place.current();
    drop(first);
    let (again, report) = place.current();
    assert_eq!((report.read, report.bytes), (0, 0));
    check(&again, &truth);
    drop(again);
    // Another index over the same home is another index.
    let other = library(&place.home(), &place.folder().join("other"));
    check(&other, &Truth::default_of(&truth));
    refresh(&other);
    check(&other, &truth);
}

/// The truth of an index that has read nothing.
trait DefaultOf {
    fn default_of(truth: &Truth) -> Truth;
}

impl DefaultOf for Truth {
    fn default_of(truth: &Truth) -> Truth {
        let days = truth.days.keys().map(|zone| (zone.clone(), BTreeMap::new())).collect();
        Truth { days, ..Truth::default() }
    }
}
