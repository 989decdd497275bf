//! Totals that an agent keeps next to its transcripts: calls that are in no transcript count, and nothing counts twice.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::json;

use crate::place::{Place, ledger};

const PROJECT: &str = ".claude/projects/-home-dev-project";

/// Input without the cache and output, by session.
fn used(place: &Place) -> BTreeMap<String, (u64, u64)> {
    let (library, _) = place.current();
    let ledger = ledger(&library);
    let mut sessions = BTreeMap::<_, (u64, u64)>::new();
    for entry in &ledger.entries {
        let sum = sessions.entry(ledger.name(entry.session).to_owned()).or_default();
        *sum = (sum.0 + entry.input, sum.1 + entry.output);
    }
    sessions
}

/// Copies a recorded log to where its agent puts it.
fn record(place: &Place, path: &str) {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/src/claude/testdata/log/projects/v326");
    place.file(&format!("{PROJECT}/{path}"), &fs::read(recorded.join(path)).unwrap());
}

const COMPACTED: &str = "15e65c89-fbe8-40be-98fb-b20074c2a2a0";
const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const FORK: &str = "87d5422b-8a6b-43dc-b979-3ebb188fbbd1";
const DELEGATED: &str = "c7600db0-bc5f-4948-8f91-9d062effe527";

#[test]
fn calls_that_are_in_no_transcript_count() {
    let place = Place::new();
    record(&place, &format!("{COMPACTED}.jsonl"));
    assert_eq!(used(&place), [(COMPACTED.to_owned(), (500, 63))].into());
}

#[test]
fn subagents_do_not_count_twice() {
    let place = Place::new();
    record(&place, &format!("{DELEGATED}.jsonl"));
    assert_eq!(used(&place), [(DELEGATED.to_owned(), (500, 187))].into(), "its log is missing, its tokens are not");
    record(&place, &format!("{DELEGATED}/subagents/agent-a2a3e3722a2d1b79b.jsonl"));
    assert_eq!(used(&place), [(DELEGATED.to_owned(), (500, 187))].into());
}

#[test]
fn a_fork_counts_without_what_it_was_forked_from() {
    let place = Place::new();
    record(&place, &format!("{SESSION}.jsonl"));
    record(&place, &format!("{FORK}.jsonl"));
    assert_eq!(used(&place), [(SESSION.to_owned(), (500, 69)), (FORK.to_owned(), (100, 14))].into());
}

#[test]
fn what_was_missing_before_a_fork_counts_once() {
    let place = Place::new();
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
        place.file(&format!("{PROJECT}/{session}.jsonl"), lines.as_bytes());
    };
    write(parent, &[reply(parent, "a", 1), total(parent, 14, 3)]);
    let mut copy = reply(fork, "a", 1);
    copy["requestSessionId"] = parent.into();
    write(fork, &[copy, reply(fork, "b", 9), total(fork, 25, 5)]);
    assert_eq!(used(&place), [(parent.to_owned(), (14, 3)), (fork.to_owned(), (11, 2))].into());
}
