//! Counting each reply once, and the facts about a session. The files are arranged as in Claude Code's directory:
//! `made` has records of old versions and of broken machines.

use std::{collections::BTreeMap, path::Path};

use super::LOGS;
use crate::{PassageKind, ReplyTokens, ScanDepth, ScanOutput, SessionFacts};

/// A path and the content of the file.
type LogFixture<'a> = (&'a str, &'a [u8]);

macro_rules! file {
    ($path:literal) => {
        (concat!("projects/", $path), include_bytes!(concat!("../testdata/log/projects/", $path)).as_slice())
    };
}

const SESSION: LogFixture<'_> = file!("recorded/g_session.jsonl");

const FORK: LogFixture<'_> = file!("recorded/g_fork.jsonl");

const SIDECHAIN: LogFixture<'_> = file!("made/made-sidechain.jsonl");

const PROGRESS: LogFixture<'_> = file!("made/made-agent-progress.jsonl");

const BESIDE: LogFixture<'_> = file!("made/agent-a77.jsonl");

const RARE: LogFixture<'_> = file!("made/made-rare.jsonl");

const GATEWAY: LogFixture<'_> = file!("made/made-gateway.jsonl");

const BAD: LogFixture<'_> = file!("made/made-bad.jsonl");

/// Scans a file and collects the problems of its records.
fn scan_log((path, bytes): LogFixture<'_>, depth: ScanDepth) -> (ScanOutput, Vec<String>) {
    let file = (LOGS.file)(Path::new(path)).unwrap();
    let mut skim = (LOGS.skim)(&file, None);
    let (mut all, mut facts, mut wrong) = (ScanOutput::default(), SessionFacts::default(), Vec::new());
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        if depth == ScanDepth::Tokens && !skim.may_affect_usage(line) {
            continue;
        }
        let Ok(record) = std::str::from_utf8(line) else { continue };
        skim.scan_record(record, depth, &mut all);
        facts.merge_newer(std::mem::take(&mut all.facts));
        wrong.extend(all.trouble.take());
        wrong.extend(all.unknown.take());
    }
    all.facts = facts;
    (all, wrong)
}

/// Merges the usage of several files: of entries with the same key, the largest counts.
fn merged_replies(files: &[LogFixture<'_>]) -> BTreeMap<String, ReplyTokens> {
    let mut replies = BTreeMap::<String, ReplyTokens>::new();
    for spent in files.iter().flat_map(|file| scan_log(*file, ScanDepth::Tokens).0.spent) {
        match replies.get_mut(&spent.key) {
            Some(known) if known.input + known.output >= spent.input + spent.output => {}
            _ => drop(replies.insert(spent.key.clone(), spent)),
        }
    }
    replies
}

#[track_caller]
fn check_output(files: &[LogFixture<'_>], want: &[(&str, u64)]) {
    let replies = merged_replies(files);
    let got: Vec<_> = replies.iter().map(|(key, spent)| (key.as_str(), spent.output)).collect();
    assert_eq!(got, want);
}

#[test]
fn blocks_repeat_the_figures_of_their_reply() {
    // Early blocks have a placeholder; a subagent repeats a reply under another request; the result of a call repeats
    // the subagent's figures.
    let want = [("claude:msg_s1", 183), ("claude:msg_s2", 1), ("claude:msg_s3", 41), ("claude:msg_s4", 1)];
    check_output(&[SIDECHAIN], &want);
}

#[test]
fn a_subagent_counts_once_wherever_it_is_written() {
    let want = [("claude:msg_p1", 90), ("claude:msg_p2", 31), ("claude:msg_p3", 8), ("claude:msg_p4", 17)];
    check_output(&[PROGRESS], &want);
    check_output(&[PROGRESS, BESIDE], &want);
    check_output(&[BESIDE], &want[1..3]);
}

#[test]
fn copies_in_other_files_are_the_same_replies() {
    let (session, both) = (merged_replies(&[SESSION]), merged_replies(&[SESSION, FORK]));
    assert_eq!((session.len(), both.len()), (4, 5), "a fork has one reply of its own");
    let own = ("projects/-w/99999999-2222-4333-8444-555555555555.jsonl", FORK.1);
    let forked = scan_log(own, ScanDepth::Tokens).0.spent;
    let copied: Vec<_> = forked.iter().map(|spent| spent.copied).collect();
    assert_eq!(copied, [true, true, true, false], "what is older than the file was copied into it");
}

#[test]
fn a_record_of_another_session_is_a_copy() {
    let (_, bytes) = SESSION;
    let moved = ("projects/elsewhere/22222222-2222-4333-8444-555555555555.jsonl", bytes);
    assert!(scan_log(moved, ScanDepth::Tokens).0.spent.iter().all(|spent| spent.copied));
    let own = ("projects/here/11111111-2222-4333-8444-555555555555.jsonl", bytes);
    assert!(scan_log(own, ScanDepth::Tokens).0.spent.iter().all(|spent| !spent.copied));
}

#[test]
fn gateways_have_other_ids() {
    let (record, [a, b]) = ("claude:aaaaaaaa-0007", ["claude:chat-1:req_a", "claude:chat-1:req_b"]);
    check_output(&[GATEWAY], &[(record, 13), (a, 11), (b, 12), ("claude:msg_g1", 10)]);
}

#[test]
fn replies_without_any_id_count_each() {
    let of = |session: &str, minute: u32, output: u32| {
        let figures = format!(r#"{{"input_tokens":1,"output_tokens":{output}}}"#);
        format!(
            r#"{{"type":"assistant","sessionId":"{session}","timestamp":"2026-11-01T10:0{minute}:00Z","message":{{"usage":{figures}}}}}"#
        )
    };
    let (first, second) = ([of("a", 1, 10), of("a", 2, 10), of("a", 2, 20)].join("\n"), of("b", 1, 10));
    let files = [("projects/-w/a.jsonl", first.as_bytes()), ("projects/-w/b.jsonl", second.as_bytes())];
    let outputs = |files: &[LogFixture<'_>]| merged_replies(files).values().map(|spent| spent.output).sum::<u64>();
    assert_eq!(outputs(&files), 10 + 10 + 20 + 10);
    let copy = ("projects/-w/c.jsonl", first.as_bytes());
    assert_eq!(outputs(&[files[0], copy]), 10 + 10 + 20, "a copy is the same");
}

#[test]
fn figures_that_are_none_are_told() {
    let wrong = |usage: &str| {
        let record = format!(r#"{{"type":"assistant","message":{{"id":"msg_1","content":[],"usage":{usage}}}}}"#);
        scan_log(("projects/-w/a.jsonl", record.as_bytes()), ScanDepth::All).1
    };
    assert!(wrong(r#"{"input_tokens":1,"cache_read_input_tokens":null}"#).is_empty());
    assert_eq!(wrong("[]"), ["the tokens of a reply are no figures"]);
    let bad = r#"{"input_tokens":1,"cache_read_input_tokens":"7"}"#;
    assert_eq!(wrong(bad), ["cache_read_input_tokens of a reply is not a number"]);
}

#[test]
fn bad_records_cost_only_themselves() {
    let replies = merged_replies(&[BAD]);
    let of = |name: &str| replies.get(&format!("claude:{name}")).map(|spent| (spent.input, spent.output));
    assert_eq!(of("msg_b1"), Some((9, 20)));
    assert_eq!(of("msg_b2"), None, "torn");
    assert_eq!(of("msg_b4"), Some((0, 0)), "null where a number was; the rest counts");
    assert_eq!(of("msg_b5"), Some((5_000_000_000, 6_000_000_000)), "beyond 32 bits");
    assert_eq!(of("msg_b6"), Some((0, 3)), "words where a number was");
    assert_eq!(of("msg_b7"), Some((9, 23)), "spaced JSON");
    assert_eq!(of("msg_b8"), Some((9, 24)), "a field that is there twice");
    assert_eq!(replies["claude:msg_b5"].cache_read, 9_007_199_254_740_993, "beyond what a float holds");
    let (_, wrong) = scan_log(BAD, ScanDepth::All);
    let want = [
        "a record is not JSON",
        "a record is not JSON",
        "a record is not JSON",
        "input_tokens of a reply is not a number",
        "input_tokens of a reply is not a number",
        "a reply has no message",
        "what was said has no message",
        "a record is no object",
        "a record is no object",
        "a record has no type",
        "a record is not JSON",
    ];
    assert_eq!(wrong, want);
}

#[test]
fn the_cache_is_kept_for_minutes_or_an_hour() {
    let spent = &merged_replies(&[PROGRESS])["claude:msg_p4"];
    assert_eq!((spent.cache_write, spent.cache_write_1h, spent.cache_read), (30, 20, 100));
}

#[test]
fn who_used_it() {
    let replies = merged_replies(&[SIDECHAIN, BESIDE]);
    let of = |name: &str| {
        let spent = &replies[&format!("claude:{name}")];
        let tools: Vec<_> = spent.tools.iter().map(|called| called.name.as_str()).collect();
        (spent.model.clone().unwrap_or_default(), spent.subagent.clone(), tools.join(" "))
    };
    assert_eq!(of("msg_s1"), ("claude-sonnet-4-5".to_owned(), None, "Task".to_owned()));
    assert_eq!(of("msg_s2"), ("claude-haiku-4-5".to_owned(), Some("sidechain".to_owned()), "Grep".to_owned()));
    assert_eq!(of("msg_p2"), ("claude-haiku-4-5".to_owned(), Some("a77".to_owned()), "Read".to_owned()));
    assert_eq!(replies["claude:msg_s1"].cwd.as_deref(), Some("/w/app"));
}

#[test]
fn what_a_session_is() {
    let facts = scan_log(RARE, ScanDepth::All).0.facts;
    assert_eq!(facts.session.as_deref(), Some("made-rare"), "by the name of the file");
    assert_eq!(facts.title.as_deref(), Some("Greetings"), "what somebody chose stays");
    assert_eq!(facts.prompt.as_deref(), Some("What is in this picture?"));
    assert_eq!(facts.prompts, 5, "two prompts, two commands, one while it worked");
    assert_eq!((facts.branch.as_deref(), facts.version.as_deref()), (Some("main"), Some("2.1.90")));
    assert_eq!((facts.cwd.as_deref(), facts.model.as_deref()), (Some("/w/app"), Some("claude-sonnet-4-5")));
    assert_eq!((facts.context_used, facts.parent), (Some(159), None));
    assert!(facts.began < facts.updated);
}

#[test]
fn a_subagent_is_part_of_a_session() {
    let facts = scan_log(BESIDE, ScanDepth::All).0.facts;
    assert_eq!(facts.session.as_deref(), Some("a77"));
    assert_eq!(facts.parent.as_deref(), Some("aaaaaaaa-0000-4000-8000-000000000002"));
    assert_eq!(facts.prompts, 0, "nobody typed what it was told");
}

#[test]
fn what_can_be_found() {
    let (found, wrong) = scan_log(RARE, ScanDepth::All);
    assert_eq!(wrong, ["hologram"]);
    let mut from = 0;
    let mut said = Vec::new();
    for passage in &found.passages {
        said.push((passage.kind, found.text.get(from..passage.end).unwrap()));
        from = passage.end;
    }
    for want in [
        (PassageKind::SessionSummary, "Leak in the pool"),
        (PassageKind::UserMessage, "What is in this picture?"),
        (PassageKind::AssistantMessage, "A greeting."),
        (PassageKind::UserMessage, "!git status"),
        (PassageKind::Log, "clean"),
        (PassageKind::UserMessage, "/review src"),
        (PassageKind::Meta, "Review the code in src."),
        (PassageKind::ToolCall, "command: cargo test"),
        (PassageKind::UserMessage, "and the tests"),
        (PassageKind::ToolResult, "Exit code 101\nfailed"),
        (PassageKind::SystemMessage, "Claude AI usage limit reached|1759399200"),
        (PassageKind::Meta, "https://example.org/pull/7"),
    ] {
        assert!(said.contains(&want), "{want:?} is not in {said:#?}");
    }
}
