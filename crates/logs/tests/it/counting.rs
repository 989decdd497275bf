//! A test for each known way to count a reply twice or not at all: one session of that kind, with known totals.

use std::{collections::BTreeMap, fmt::Debug, fs, path::Path};

use serde_json::json;
use switchboard_testkit::corpus::agents::opencode;
use switchboard_testkit::corpus::files::CorpusWriter;
use switchboard_testkit::corpus::plan::TIME_ZONES;
use switchboard_testkit::corpus::{CorpusOptions, CorpusTruth};

use super::fixture::{
    LibraryFixture, full_ledger, hit_sessions, open_library, refresh_all, tokens_by, tokens_by_day, tokens_by_session,
};

/// Checks that three sessions written by `write` have exactly the expected usage.
#[track_caller]
fn assert_exact(write: impl Fn(&mut CorpusWriter, u64) -> anyhow::Result<()>) {
    let (place, truth) = LibraryFixture::with_logs(|corpus| (1..=3).try_for_each(|seed| write(corpus, seed * 1_000)));
    let (library, _) = place.refreshed_library();
    let ledger = full_ledger(&library);
    assert_eq!(truth.sum_fork_families(&tokens_by_session(&ledger)), truth.sum_fork_families(&truth.sessions));
    assert_eq!(tokens_by_day(&ledger, "UTC"), truth.days.get("UTC").cloned().unwrap_or_default());
}

macro_rules! cases {
    ($agent:ident: $($name:ident = $case:ident;)*) => {
        mod $agent {
            use switchboard_testkit::corpus::agents::$agent as shapes;

            use super::*;

            $(#[test]
            fn $name() {
                assert_exact(|corpus, seed| shapes::write_session(corpus, shapes::CountingCase::$case, seed, 40_000));
            })*

            #[test]
            fn every_case_has_a_test() {
                let tested = [$(shapes::CountingCase::$case),*];
                assert!(shapes::CountingCase::ALL.iter().all(|case| tested.contains(case)));
            }
        }
    };
}

cases! { claude:
    a_reply_of_several_records_is_one = Repeated;
    early_records_with_few_tokens_do_not_count = Partial;
    the_largest_figure_counts_where_none_is_whole = OnlyPartial;
    replies_without_a_request_are_counted_once = NoRequest;
    subagents_belong_to_their_session = Subagents;
    subagents_of_older_versions_belong_to_their_session = Beside;
    subagents_inside_of_a_session_are_counted_once = Inside;
    progress_of_a_subagent_is_counted_once = Progress;
    replies_replayed_by_a_subagent_belong_to_the_session = Replayed;
    a_fork_has_only_what_came_after = Forked;
    a_copy_in_another_folder_has_nothing = Worktree;
    retries_errors_and_sums_are_no_replies = Eventful;
}

cases! { codex:
    repeated_totals_are_counted_once = Totals;
    records_and_totals_of_a_reply_are_one = Records;
    totals_that_start_anew_lose_nothing = Reset;
    two_equal_replies_are_two = Equal;
    totals_without_a_last_reply_are_enough = Sparse;
    a_fork_that_replays_its_parent_has_only_what_came_after = Replayed;
    a_fork_of_a_fork_has_only_what_came_after = ReplayedTwice;
    a_fork_by_reference_has_all_of_its_own = Based;
    a_fork_by_reference_does_not_have_its_parents_totals = BasedTotals;
    a_subagent_that_replays_its_session_has_only_its_own = SpawnedCopy;
    a_subagent_belongs_to_its_session = SpawnedFresh;
    a_compressed_log_is_read = Compressed;
    a_log_that_was_put_away_is_read = Archived;
    a_log_that_was_put_away_and_is_still_there_is_one = ArchivedTwin;
    a_log_that_was_compressed_and_is_still_there_is_one = CompressedTwin;
    early_logs_have_no_tokens = Bare;
    the_first_logs_have_no_tokens = Document;
}

cases! { gemini:
    a_reply_is_counted = Plain;
    a_reply_that_is_told_again_is_one = Replaced;
    replies_that_were_taken_back_were_paid_for = Rewound;
    messages_that_are_written_anew_are_counted_once = Rewritten;
    a_message_that_is_changed_is_one = Patched;
    subagents_belong_to_their_session = Subagent;
    a_document_is_read = Document;
    a_document_and_the_file_made_of_it_are_one = Migrated;
}

mod opencode_cases {
    use super::*;

    #[track_caller]
    fn assert_exact_case(case: opencode::CountingCase) {
        assert_exact(|corpus, seed| {
            // All three go into one database.
            let cases = (0..3).map(|number| (case, seed + number, 30_000));
            if seed == 1_000 { opencode::write_sessions(corpus, cases) } else { Ok(()) }
        });
    }

    #[test]
    fn a_message_and_its_last_part_are_one_reply() {
        assert_exact_case(opencode::CountingCase::Plain);
    }

    #[test]
    fn child_sessions_belong_to_their_session() {
        assert_exact_case(opencode::CountingCase::Child);
    }

    #[test]
    fn a_session_in_two_tables_is_one() {
        assert_exact_case(opencode::CountingCase::Migrated);
    }

    #[test]
    fn the_later_table_is_read() {
        assert_exact_case(opencode::CountingCase::Later);
    }

    #[test]
    fn the_tree_of_older_versions_is_read() {
        assert_exact_case(opencode::CountingCase::Tree);
    }

    #[test]
    fn a_session_in_the_tree_and_in_the_database_is_one() {
        assert_exact_case(opencode::CountingCase::TreeToo);
    }

    #[test]
    fn databases_of_other_channels_are_read() {
        assert_exact_case(opencode::CountingCase::Channel);
    }
}

const PROJECT_PATH: &str = ".claude/projects/-home-dev-project";

/// Returns uncached input and output tokens by session.
fn used_tokens(place: &LibraryFixture) -> BTreeMap<String, (u64, u64)> {
    let (library, _) = place.refreshed_library();
    let ledger = full_ledger(&library);
    let mut sessions = BTreeMap::<_, (u64, u64)>::new();
    for entry in &ledger.entries {
        let sum = sessions.entry(ledger.resolve_name(entry.session).to_owned()).or_default();
        *sum = (sum.0 + entry.input, sum.1 + entry.output);
    }
    sessions
}

/// Copies a recorded log to where its agent stores it.
fn copy_recorded_log(place: &LibraryFixture, path: &str) {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/src/claude/testdata/log/projects/v326");
    place.write_file(&format!("{PROJECT_PATH}/{path}"), &fs::read(recorded.join(path)).unwrap());
}

const COMPACTED: &str = "15e65c89-fbe8-40be-98fb-b20074c2a2a0";
const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const FORK: &str = "87d5422b-8a6b-43dc-b979-3ebb188fbbd1";
const DELEGATED: &str = "c7600db0-bc5f-4948-8f91-9d062effe527";

#[test]
fn calls_that_are_in_no_transcript_count() {
    let place = LibraryFixture::new();
    copy_recorded_log(&place, &format!("{COMPACTED}.jsonl"));
    assert_eq!(used_tokens(&place), [(COMPACTED.to_owned(), (500, 63))].into());
}

#[test]
fn subagents_do_not_count_twice() {
    let place = LibraryFixture::new();
    copy_recorded_log(&place, &format!("{DELEGATED}.jsonl"));
    assert_eq!(
        used_tokens(&place),
        [(DELEGATED.to_owned(), (500, 187))].into(),
        "its log is missing, its tokens are not"
    );
    copy_recorded_log(&place, &format!("{DELEGATED}/subagents/agent-a2a3e3722a2d1b79b.jsonl"));
    assert_eq!(used_tokens(&place), [(DELEGATED.to_owned(), (500, 187))].into());
}

#[test]
fn a_fork_counts_without_what_it_was_forked_from() {
    let place = LibraryFixture::new();
    copy_recorded_log(&place, &format!("{SESSION}.jsonl"));
    copy_recorded_log(&place, &format!("{FORK}.jsonl"));
    assert_eq!(used_tokens(&place), [(SESSION.to_owned(), (500, 69)), (FORK.to_owned(), (100, 14))].into());
}

#[test]
fn what_was_missing_before_a_fork_counts_once() {
    let place = LibraryFixture::new();
    let (parent, fork) = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002");
    let reply = |session: &str, id: &str, minute: u32| {
        json!({"type": "assistant", "sessionId": session, "uuid": format!("{session}{id}"), "cwd": "/p",
            "timestamp": format!("2026-11-17T10:{minute:02}:00.000Z"),
            "message": {"id": format!("msg_{id}"), "model": "m", "stop_reason": "end_turn", "content": [],
                "usage": {"input_tokens": 10, "output_tokens": 1}}})
    };
    let total = |session: &str, input: u64, output: u64| {
        json!({"type": "cost-state", "sessionId": session, "startTime": 7,
            "modelUsage": {"m": {"inputTokens": input, "outputTokens": output}}})
    };
    let write = |session: &str, records: &[serde_json::Value]| {
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        place.write_file(&format!("{PROJECT_PATH}/{session}.jsonl"), lines.as_bytes());
    };
    write(parent, &[reply(parent, "a", 1), total(parent, 14, 3)]);
    let mut copy = reply(fork, "a", 1);
    copy["requestSessionId"] = parent.into();
    write(fork, &[copy, reply(fork, "b", 9), total(fork, 25, 5)]);
    assert_eq!(used_tokens(&place), [(parent.to_owned(), (14, 3)), (fork.to_owned(), (11, 2))].into());
}

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
