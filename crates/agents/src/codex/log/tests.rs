//! Rollouts with known usage: copies count once, equal replies count twice. The formats are those that other tools have
//! miscounted; the files are in `testdata/log`.

use std::collections::BTreeMap;

use switchboard_event::{Event, EventBody, Usage};

use super::LOGS;
use crate::{
    LogFile, Record, RecordTranslator, ReplyTokens, ScanDepth, ScanOutput, SessionFacts, TranslatorOptions, find_source,
};

macro_rules! recordings {
    ($($name:literal)*) => {
        &[$(($name, include_bytes!(concat!("../testdata/log/", $name, ".jsonl")))),*]
    };
}

const RECORDINGS: &[(&str, &[u8])] = recordings! {
    "collab" "codemode" "legacy-history-mode" "shell" "made-bad"
    "made-bare" "made-fork" "made-fork-again" "made-fork-paginated" "made-items"
    "made-old" "made-old-fork" "made-overflow" "made-parent" "made-subagent"
    "made-subagent-fresh" "forked-legacy-1" "forked-legacy-2" "forked-legacy-3" "forked-paged-1"
    "forked-paged-2" "forked-paged-3" "spawned-legacy-1" "spawned-legacy-2" "spawned-paged-1"
    "spawned-paged-2"
};

fn recording_lines(name: &str) -> Vec<Vec<u8>> {
    let (_, bytes) = RECORDINGS.iter().find(|(known, _)| *known == name).unwrap();
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Results of scanning lines.
#[derive(Default)]
struct RolloutScanResult {
    spent: Vec<ReplyTokens>,
    facts: SessionFacts,
    text: String,
    wrong: Vec<String>,
}

fn scan_lines(lines: &[Vec<u8>], depth: ScanDepth) -> RolloutScanResult {
    let mut skim = (LOGS.skim)(&LogFile::line_log(None), None);
    let mut all = RolloutScanResult::default();
    for line in lines {
        if depth == ScanDepth::Tokens && !skim.may_affect_usage(line) {
            continue;
        }
        let Ok(record) = std::str::from_utf8(line) else { continue };
        let mut found = ScanOutput::default();
        skim.scan_record(record, depth, &mut found);
        all.spent.append(&mut found.spent);
        all.facts.merge_newer(found.facts);
        all.wrong.extend(found.trouble);
        all.text.push_str(&found.text);
    }
    all
}

/// Sums the usage of files: input including the cache, output, and the number of replies.
fn sum_replies(names: &[impl AsRef<str>]) -> (u64, u64, usize) {
    let mut replies: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for name in names {
        for spent in scan_lines(&recording_lines(name.as_ref()), ScanDepth::Tokens).spent {
            let figures = (spent.input + spent.cache_read + spent.cache_write, spent.output);
            let known = replies.entry(spent.key).or_default();
            *known = (*known).max(figures);
        }
    }
    let sum = replies.values().fold((0, 0), |sum, reply| (sum.0 + reply.0, sum.1 + reply.1));
    (sum.0, sum.1, replies.len())
}

fn translate_recording(name: &str) -> Vec<Event> {
    let mut translator = RecordTranslator::new(find_source("codex:log").unwrap(), TranslatorOptions::default());
    let mut out = Vec::new();
    for line in recording_lines(name) {
        translator.translate_record(&Record::from_line(&line).unwrap(), &mut out);
    }
    translator.finish(&mut out);
    out
}

/// Sums the usage in the events of a file: input including the cache, output, and the number of replies.
fn sum_usage_events(name: &str) -> (u64, u64, usize) {
    let used: Vec<Usage> = translate_recording(name)
        .into_iter()
        .filter_map(|event| match event.body {
            EventBody::Usage(usage) if !usage.cumulative => Some(*usage),
            _ => None,
        })
        .collect();
    let sum = used.iter().fold((0, 0), |sum, usage| (sum.0 + usage.all_input(), sum.1 + usage.output));
    (sum.0, sum.1, used.len())
}

/// Checks that events and scanner count the same replies of the file's own thread.
#[track_caller]
fn check_own_usage(name: &str, input: u64, output: u64, replies: usize) {
    assert_eq!(sum_usage_events(name), (input, output, replies), "{name}, read");
    let own: Vec<_> =
        scan_lines(&recording_lines(name), ScanDepth::Tokens).spent.into_iter().filter(|spent| !spent.copied).collect();
    let own: Vec<_> = own.iter().filter(|spent| spent.output > 0).collect();
    let sum = own.iter().fold((0, 0), |sum, spent| (sum.0 + spent.input + spent.cache_read, sum.1 + spent.output));
    assert_eq!((sum.0, sum.1, own.len()), (input, output, replies), "{name}, skimmed");
}

#[test]
fn totals_that_are_told_again_count_once_and_equal_turns_twice() {
    check_own_usage("made-old", 4400, 82, 4);
}

#[test]
fn a_total_that_begins_anew_loses_nothing_and_an_estimate_is_none() {
    check_own_usage("made-overflow", 209_000, 1300, 2);
}

#[test]
fn a_fork_has_only_what_came_after() {
    check_own_usage("made-parent", 25_500, 330, 4);
    check_own_usage("made-fork", 7500, 90, 1);
    check_own_usage("made-fork-again", 8000, 10, 1);
    check_own_usage("made-old-fork", 1500, 30, 1);
}

#[test]
fn what_forks_repeat_counts_once_wherever_it_is() {
    assert_eq!(sum_replies(&["made-parent", "made-fork", "made-fork-again"]), (41_000, 430, 6));
    // The parent is gone: its usage up to the fork is still counted once.
    assert_eq!(sum_replies(&["made-fork", "made-fork-again"]), (18_000 + 7500 + 8000, 240 + 90 + 10, 5));
    assert_eq!(sum_replies(&["made-old", "made-old-fork"]), (5900, 112, 5));
    assert_eq!(sum_replies(&["made-old-fork"]), (5900, 112, 5));
}

#[test]
fn forks_and_subagents_of_a_real_codex_count_what_the_model_gave() {
    // Each reply of the scripted model used 100 input and 20 output tokens, in all threads.
    let forked = ["legacy-1", "legacy-2", "legacy-3", "paged-1", "paged-2", "paged-3"];
    assert_eq!(sum_replies(&forked.map(|name| format!("forked-{name}"))), (800, 160, 8));
    let spawned = ["legacy-1", "legacy-2", "paged-1", "paged-2"];
    assert_eq!(sum_replies(&spawned.map(|name| format!("spawned-{name}"))), (1200, 240, 12));
    check_own_usage("forked-legacy-3", 100, 20, 1);
    check_own_usage("spawned-legacy-2", 100, 20, 1);
    check_own_usage("spawned-paged-2", 100, 20, 1);
}

#[test]
fn the_parent_and_its_fork_can_use_the_same_and_are_two() {
    // Both continued with a reply of exactly the same usage.
    let (parent, fork) = (sum_replies(&["made-parent"]), sum_replies(&["made-parent", "made-fork"]));
    assert_eq!((fork.0 - parent.0, fork.2 - parent.2), (7500, 1));
}

#[test]
fn a_subagent_that_replays_its_parent_has_only_its_own() {
    check_own_usage("made-subagent", 6200, 60, 2);
    check_own_usage("made-subagent-fresh", 6200, 60, 2);
    assert_eq!(sum_replies(&["made-parent", "made-subagent", "made-subagent-fresh"]), (25_500 + 12_400, 330 + 120, 8));
}

#[test]
fn a_subagents_own_turn_is_not_its_parents() {
    let turns = translate_recording("spawned-legacy-2").into_iter().filter_map(|event| match event.body {
        EventBody::TurnCompleted(turn) => Some(turn.status),
        _ => None,
    });
    assert_eq!(turns.collect::<Vec<_>>(), [switchboard_event::TurnStatus::Completed; 4]);
}

#[test]
fn a_fork_by_reference_has_all_of_its_own_within_a_second() {
    check_own_usage("made-fork-paginated", 1850, 14, 2);
    let facts = scan_lines(&recording_lines("made-fork-paginated"), ScanDepth::Tokens).facts;
    assert_eq!(facts.base.map(|base| base.records), Some(21));
}

#[test]
fn a_response_that_is_recorded_again_counts_once() {
    // The scripted model gave three ids to fifteen responses.
    check_own_usage("collab", 300, 60, 3);
}

#[test]
fn what_a_fork_repeats_of_the_only_reply_before_it_is_not_its_own() {
    let total = |input: u64| format!(r#"{{"input_tokens":{input},"output_tokens":20}}"#);
    let count = |total: &str, last: &str| {
        let info = format!(r#"{{"total_token_usage":{total},"last_token_usage":{last}}}"#);
        format!(r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{info}}}}}"#)
    };
    let meta = r#"{"type":"session_meta","payload":{"id":"01a1e0a9-5f4e-7ce0-a9bb-fba447950f56","history_base":{"thread_id":"01a1e0a8-5f4e-7ce0-a9bb-fba447950f56","end_ordinal_exclusive":9}}}"#;
    let said = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}}"#;
    let lines = [meta, &count(&total(100), &total(100)), said, &count(&total(1100), &total(1000))]
        .map(|line| line.as_bytes().to_vec());
    let spent = |lines: &[Vec<u8>]| -> Vec<u64> {
        scan_lines(lines, ScanDepth::Tokens).spent.iter().map(|spent| spent.input).collect()
    };
    assert_eq!(spent(&lines), [1000]);
    // In an independent thread it is the first reply.
    let own = br#"{"type":"session_meta","payload":{"id":"01a1e0a9-5f4e-7ce0-a9bb-fba447950f56"}}"#.to_vec();
    assert_eq!(spent(&[&[own], &lines[1..]].concat()), [100, 1000]);
}

#[test]
fn first_turns_that_are_equal_are_two_in_two_sessions() {
    let copy = |session: &str| -> Vec<Vec<u8>> {
        let text = String::from_utf8(recording_lines("made-old").join(&b'\n')).unwrap();
        text.replace("019a3f62", session).lines().map(|line| line.as_bytes().to_vec()).collect()
    };
    let keys = |session: &str| scan_lines(&copy(session), ScanDepth::Tokens).spent.into_iter().map(|spent| spent.key);
    let first: Vec<_> = keys("019a3f62").collect();
    assert!(!first.is_empty() && keys("019a3f63").all(|key| !first.contains(&key)), "{first:?}");
}

#[test]
fn between_bad_records_all_others_are_read() {
    check_own_usage("made-bad", 3000, 30, 3);
    let all = scan_lines(&recording_lines("made-bad"), ScanDepth::All);
    let want = [
        "a record is not JSON",
        "a record is not JSON",
        "tokens that are no numbers in token_count",
        "a record of no kind",
        "a record of no kind",
        "a record of no kind",
        "tokens that are no numbers in token_count",
        "tokens that are no numbers in token_usage_record",
        "a record is not JSON",
    ];
    assert_eq!(all.wrong, want);
}

#[test]
fn who_and_what_is_known_of_a_session() {
    let facts = scan_lines(&recording_lines("made-subagent"), ScanDepth::All).facts;
    let child = (facts.subagent.as_deref(), facts.prompt.as_deref(), facts.prompts);
    assert_eq!(child, (Some("Euclid"), Some("count the files"), 0));
    assert!(
        facts
            .parent
            .is_some_and(|parent| recording_lines("made-parent")[0].windows(36).any(|id| id == parent.as_bytes()))
    );

    let facts = scan_lines(&recording_lines("made-items"), ScanDepth::Tokens).facts;
    assert_eq!((facts.title.as_deref(), facts.model.as_deref()), (Some("Everything at once"), Some("gpt-6")));
    assert_eq!(
        (facts.prompt.as_deref(), facts.prompts, facts.branch.as_deref()),
        (Some("look at this"), 1, Some("main"))
    );

    let facts = scan_lines(&recording_lines("made-old"), ScanDepth::All).facts;
    assert_eq!((facts.prompt.as_deref(), facts.prompts), (Some("continue"), 3));
    let facts = scan_lines(&recording_lines("made-bare"), ScanDepth::All).facts;
    assert_eq!((facts.cwd.as_deref(), facts.prompts), (Some("/home/dev/app"), 2));
    let facts = scan_lines(&recording_lines("shell"), ScanDepth::Tokens).facts;
    assert_eq!((facts.context_used, facts.context_size, facts.prompts), (Some(120), Some(258_400), 3));
}

#[test]
fn a_text_is_found_once() {
    let all = scan_lines(&recording_lines("legacy-history-mode"), ScanDepth::All);
    assert_eq!(all.text.matches("Reasoned answer.").count(), 1);
    assert_eq!(all.text.matches("**Thinking** about it").count(), 1);
    let all = scan_lines(&recording_lines("codemode"), ScanDepth::All);
    assert_eq!(all.text.matches("Code mode done.").count(), 1);
}

#[test]
fn tools_belong_to_the_reply_that_called_them() {
    let spent = scan_lines(&recording_lines("made-parent"), ScanDepth::Tokens).spent;
    let tools: Vec<_> = spent.iter().map(|spent| spent.tools.len()).collect();
    assert_eq!(tools, [1, 0, 0, 0]);
    assert_eq!(spent[0].tools[0].name, "exec_command");
}
