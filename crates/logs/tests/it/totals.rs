//! Totals that an agent stores next to its transcripts: calls outside of transcripts count, and nothing counts twice.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::json;

use crate::place::{LibraryFixture, full_ledger};

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
