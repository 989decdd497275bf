//! Rollouts with known truth: what is copied is counted once, what only looks alike is counted twice. The shapes are
//! those that were counted wrongly elsewhere; `testdata/log` has the files.

use std::collections::BTreeMap;

use switchboard_event::{Body, Event, Usage};

use super::LOGS;
use crate::{Depth, Facts, Finds, LogFile, Options, Record, Spent, Translator, source};

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

fn lines(name: &str) -> Vec<Vec<u8>> {
    let (_, bytes) = RECORDINGS.iter().find(|(known, _)| *known == name).unwrap();
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// What lines gave: what was used, what is known, what was said, and what was wrong.
#[derive(Default)]
struct Skimmed {
    spent: Vec<Spent>,
    facts: Facts,
    text: String,
    wrong: Vec<String>,
}

fn skim(lines: &[Vec<u8>], depth: Depth) -> Skimmed {
    let mut skim = (LOGS.skim)(&LogFile::lines(None), None);
    let mut all = Skimmed::default();
    for line in lines {
        if depth == Depth::Tokens && !skim.counts(line) {
            continue;
        }
        let Ok(record) = std::str::from_utf8(line) else { continue };
        let mut found = Finds::default();
        skim.record(record, depth, &mut found);
        all.spent.append(&mut found.spent);
        all.facts.learn(found.facts);
        all.wrong.extend(found.trouble);
        all.text.push_str(&found.text);
    }
    all
}

/// Everything that files used together: input with the cache in it, and output.
fn ledger(names: &[impl AsRef<str>]) -> (u64, u64, usize) {
    let mut replies: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for name in names {
        for spent in skim(&lines(name.as_ref()), Depth::Tokens).spent {
            let figures = (spent.input + spent.cache_read + spent.cache_write, spent.output);
            let known = replies.entry(spent.key).or_default();
            *known = (*known).max(figures);
        }
    }
    let sum = replies.values().fold((0, 0), |sum, reply| (sum.0 + reply.0, sum.1 + reply.1));
    (sum.0, sum.1, replies.len())
}

fn events(name: &str) -> Vec<Event> {
    let mut translator = Translator::new(source("codex:log").unwrap(), Options::default());
    let mut out = Vec::new();
    for line in lines(name) {
        translator.record(&Record::from_line(&line).unwrap(), &mut out);
    }
    translator.end(&mut out);
    out
}

/// What the events of a file count: input with the cache in it, and output.
fn counted(name: &str) -> (u64, u64, usize) {
    let used: Vec<Usage> = events(name)
        .into_iter()
        .filter_map(|event| match event.body {
            Body::Usage(usage) if !usage.cumulative => Some(*usage),
            _ => None,
        })
        .collect();
    let sum = used.iter().fold((0, 0), |sum, usage| (sum.0 + usage.all_input(), sum.1 + usage.output));
    (sum.0, sum.1, used.len())
}

/// The events of a file count its own replies, and skimming finds the same.
#[track_caller]
fn has_own(name: &str, input: u64, output: u64, replies: usize) {
    assert_eq!(counted(name), (input, output, replies), "{name}, read");
    let own: Vec<_> = skim(&lines(name), Depth::Tokens).spent.into_iter().filter(|spent| !spent.copied).collect();
    let own: Vec<_> = own.iter().filter(|spent| spent.output > 0).collect();
    let sum = own.iter().fold((0, 0), |sum, spent| (sum.0 + spent.input + spent.cache_read, sum.1 + spent.output));
    assert_eq!((sum.0, sum.1, own.len()), (input, output, replies), "{name}, skimmed");
}

#[test]
fn totals_that_are_told_again_count_once_and_equal_turns_twice() {
    has_own("made-old", 4400, 82, 4);
}

#[test]
fn a_total_that_begins_anew_loses_nothing_and_an_estimate_is_none() {
    has_own("made-overflow", 209_000, 1300, 2);
}

#[test]
fn a_fork_has_only_what_came_after() {
    has_own("made-parent", 25_500, 330, 4);
    has_own("made-fork", 7500, 90, 1);
    has_own("made-fork-again", 8000, 10, 1);
    has_own("made-old-fork", 1500, 30, 1);
}

#[test]
fn what_forks_repeat_counts_once_wherever_it_is() {
    assert_eq!(ledger(&["made-parent", "made-fork", "made-fork-again"]), (41_000, 430, 6));
    // The parent is gone: what it had until then is still known, once.
    assert_eq!(ledger(&["made-fork", "made-fork-again"]), (18_000 + 7500 + 8000, 240 + 90 + 10, 5));
    assert_eq!(ledger(&["made-old", "made-old-fork"]), (5900, 112, 5));
    assert_eq!(ledger(&["made-old-fork"]), (5900, 112, 5));
}

#[test]
fn forks_and_subagents_of_a_real_codex_count_what_the_model_gave() {
    // Each reply of the scripted model used 100 and 20, in all threads.
    let forked = ["legacy-1", "legacy-2", "legacy-3", "paged-1", "paged-2", "paged-3"];
    assert_eq!(ledger(&forked.map(|name| format!("forked-{name}"))), (800, 160, 8));
    let spawned = ["legacy-1", "legacy-2", "paged-1", "paged-2"];
    assert_eq!(ledger(&spawned.map(|name| format!("spawned-{name}"))), (1200, 240, 12));
    has_own("forked-legacy-3", 100, 20, 1);
    has_own("spawned-legacy-2", 100, 20, 1);
    has_own("spawned-paged-2", 100, 20, 1);
}

#[test]
fn the_parent_and_its_fork_can_use_the_same_and_are_two() {
    // Both went on with a reply of exactly the same figures.
    let (parent, fork) = (ledger(&["made-parent"]), ledger(&["made-parent", "made-fork"]));
    assert_eq!((fork.0 - parent.0, fork.2 - parent.2), (7500, 1));
}

#[test]
fn a_subagent_that_replays_its_parent_has_only_its_own() {
    has_own("made-subagent", 6200, 60, 2);
    has_own("made-subagent-fresh", 6200, 60, 2);
    assert_eq!(ledger(&["made-parent", "made-subagent", "made-subagent-fresh"]), (25_500 + 12_400, 330 + 120, 8));
}

#[test]
fn a_subagents_own_turn_is_not_its_parents() {
    let turns = events("spawned-legacy-2").into_iter().filter_map(|event| match event.body {
        Body::TurnCompleted(turn) => Some(turn.status),
        _ => None,
    });
    assert_eq!(turns.collect::<Vec<_>>(), [switchboard_event::TurnStatus::Completed; 4]);
}

#[test]
fn a_fork_by_reference_has_all_of_its_own_within_a_second() {
    has_own("made-fork-paginated", 1850, 14, 2);
    let facts = skim(&lines("made-fork-paginated"), Depth::Tokens).facts;
    assert_eq!(facts.base.map(|base| base.records), Some(21));
}

#[test]
fn a_response_that_is_recorded_again_counts_once() {
    // The scripted model gave three names to fifteen responses.
    has_own("collab", 300, 60, 3);
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
    let spent =
        |lines: &[Vec<u8>]| -> Vec<u64> { skim(lines, Depth::Tokens).spent.iter().map(|spent| spent.input).collect() };
    assert_eq!(spent(&lines), [1000]);
    // In a thread of its own it is the first reply.
    let own = br#"{"type":"session_meta","payload":{"id":"01a1e0a9-5f4e-7ce0-a9bb-fba447950f56"}}"#.to_vec();
    assert_eq!(spent(&[&[own], &lines[1..]].concat()), [100, 1000]);
}

#[test]
fn first_turns_that_are_equal_are_two_in_two_sessions() {
    let copy = |session: &str| -> Vec<Vec<u8>> {
        let text = String::from_utf8(lines("made-old").join(&b'\n')).unwrap();
        text.replace("019a3f62", session).lines().map(|line| line.as_bytes().to_vec()).collect()
    };
    let keys = |session: &str| skim(&copy(session), Depth::Tokens).spent.into_iter().map(|spent| spent.key);
    let first: Vec<_> = keys("019a3f62").collect();
    assert!(!first.is_empty() && keys("019a3f63").all(|key| !first.contains(&key)), "{first:?}");
}

#[test]
fn between_bad_records_all_others_are_read() {
    has_own("made-bad", 3000, 30, 3);
    let all = skim(&lines("made-bad"), Depth::All);
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
    let facts = skim(&lines("made-subagent"), Depth::All).facts;
    let child = (facts.subagent.as_deref(), facts.prompt.as_deref(), facts.prompts);
    assert_eq!(child, (Some("Euclid"), Some("count the files"), 0));
    assert!(facts.parent.is_some_and(|parent| lines("made-parent")[0].windows(36).any(|id| id == parent.as_bytes())));

    let facts = skim(&lines("made-items"), Depth::Tokens).facts;
    assert_eq!((facts.title.as_deref(), facts.model.as_deref()), (Some("Everything at once"), Some("gpt-6")));
    assert_eq!(
        (facts.prompt.as_deref(), facts.prompts, facts.branch.as_deref()),
        (Some("look at this"), 1, Some("main"))
    );

    let facts = skim(&lines("made-old"), Depth::All).facts;
    assert_eq!((facts.prompt.as_deref(), facts.prompts), (Some("continue"), 3));
    let facts = skim(&lines("made-bare"), Depth::All).facts;
    assert_eq!((facts.cwd.as_deref(), facts.prompts), (Some("/home/dev/app"), 2));
    let facts = skim(&lines("shell"), Depth::Tokens).facts;
    assert_eq!((facts.context_used, facts.context_size, facts.prompts), (Some(120), Some(258_400), 3));
}

#[test]
fn a_text_is_found_once() {
    let all = skim(&lines("legacy-history-mode"), Depth::All);
    assert_eq!(all.text.matches("Reasoned answer.").count(), 1);
    assert_eq!(all.text.matches("**Thinking** about it").count(), 1);
    let all = skim(&lines("codemode"), Depth::All);
    assert_eq!(all.text.matches("Code mode done.").count(), 1);
}

#[test]
fn tools_belong_to_the_reply_that_called_them() {
    let spent = skim(&lines("made-parent"), Depth::Tokens).spent;
    let tools: Vec<_> = spent.iter().map(|spent| spent.tools.len()).collect();
    assert_eq!(tools, [1, 0, 0, 0]);
    assert_eq!(spent[0].tools[0].name, "exec_command");
}
