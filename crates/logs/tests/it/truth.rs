//! On corpora with known totals, all sums are exact: by day in any time zone, by model, project, agent and session.

use std::{collections::BTreeMap, fmt::Debug};

use switchboard_testkit::corpus::{CorpusOptions, CorpusTruth, calendar::TIME_ZONES};

use crate::place::{
    LibraryFixture, full_ledger, hit_sessions, open_library, refresh_all, tokens_by, tokens_by_day, tokens_by_session,
};

/// Reports only differing rows: a corpus has hundreds.
#[track_caller]
pub fn assert_same_rows<T: Debug + PartialEq>(what: &str, found: &BTreeMap<String, T>, truth: &BTreeMap<String, T>) {
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

fn check_totals(library: &switchboard_logs::LogLibrary, truth: &CorpusTruth) {
    let ledger = full_ledger(library);
    assert_same_rows(
        "agents",
        &tokens_by(&ledger, |ledger, entry| ledger.resolve_name(entry.agent).to_owned()),
        &truth.agents,
    );
    for zone in TIME_ZONES {
        assert_same_rows(zone, &tokens_by_day(&ledger, zone), &truth.days[*zone]);
    }
    assert_same_rows(
        "models",
        &tokens_by(&ledger, |ledger, entry| ledger.resolve_name(entry.model).to_owned()),
        &truth.models,
    );
    assert_same_rows(
        "projects",
        &tokens_by(&ledger, |ledger, entry| ledger.resolve_name(entry.project).to_owned()),
        &truth.projects,
    );
    assert_same_rows(
        "sessions",
        &truth.sum_fork_families(&tokens_by_session(&ledger)),
        &truth.sum_fork_families(&truth.sessions),
    );
}

#[test]
fn every_day_model_project_agent_and_session_is_exact() {
    for seed in [1, 2, 3] {
        let (place, truth) = LibraryFixture::with_corpus(&CorpusOptions::small(seed));
        let (library, _) = place.refreshed_library();
        check_totals(&library, &truth);
    }
}

#[test]
fn tokens_alone_are_as_exact_as_with_all_text() {
    let (place, truth) = LibraryFixture::with_corpus(&CorpusOptions::small(4));
    let library = place.open_library();
    library.refresh_index(switchboard_agents::ScanDepth::Tokens, &|_| {}).unwrap();
    check_totals(&library, &truth);
    refresh_all(&library);
    check_totals(&library, &truth);
}

#[test]
fn what_was_said_once_is_found_in_its_session() {
    let (place, truth) = LibraryFixture::with_corpus(&CorpusOptions::small(5));
    let (library, _) = place.refreshed_library();
    assert!(truth.rare.len() >= truth.agents.len(), "{:?}", truth.rare);
    for needle in &truth.rare {
        let found = hit_sessions(&library, &needle.word, 10);
        assert!(!found.is_empty() && found.iter().all(|session| *session == needle.session), "{needle:?}: {found:?}");
    }
    assert!(!hit_sessions(&library, &truth.common, 10).is_empty());
}

#[test]
fn a_second_look_reads_nothing_and_says_the_same() {
    let (place, truth) = LibraryFixture::with_corpus(&CorpusOptions::small(6));
    let (first, _) = place.refreshed_library();
    drop(first);
    let (again, report) = place.refreshed_library();
    assert_eq!((report.read, report.bytes), (0, 0));
    check_totals(&again, &truth);
    drop(again);
    // Another index over the same home is independent.
    let other = open_library(&place.home_dir(), &place.root_dir().join("other"));
    check_totals(&other, &CorpusTruth::empty_truth_for(&truth));
    refresh_all(&other);
    check_totals(&other, &truth);
}

/// The expected totals of an index that has read nothing.
trait EmptyTruth {
    fn empty_truth_for(truth: &CorpusTruth) -> CorpusTruth;
}

impl EmptyTruth for CorpusTruth {
    fn empty_truth_for(truth: &CorpusTruth) -> CorpusTruth {
        let days = truth.days.keys().map(|zone| (zone.clone(), BTreeMap::new())).collect();
        CorpusTruth { days, ..CorpusTruth::default() }
    }
}
