//! Repeated replies are counted once.

use std::collections::BTreeMap;

use super::LOGS;
use crate::{LogFile, ReplyTokens, ScanDepth, ScanOutput};

fn skimmed(records: &str) -> ScanOutput {
    let (mut skim, mut found) = ((LOGS.skim)(&LogFile::line_log(None), None), ScanOutput::default());
    for record in records.lines() {
        let before = std::mem::take(&mut found.facts);
        skim.scan_record(record, ScanDepth::All, &mut found);
        let news = std::mem::replace(&mut found.facts, before);
        found.facts.merge_newer(news);
    }
    skim.finish(&mut found);
    found
}

fn spent(found: &ScanOutput) -> BTreeMap<&str, &ReplyTokens> {
    found.spent.iter().filter(|spent| spent.input > 0).map(|spent| (spent.key.as_str(), spent)).collect()
}

#[test]
fn a_fork_is_a_copy_of_what_another_session_used() {
    let original = skimmed(include_str!("../testdata/log/compaction-error.jsonl"));
    let fork = skimmed(include_str!("../testdata/log/fork.jsonl"));
    let (original, fork) = (spent(&original), spent(&fork));
    assert_eq!(original.keys().collect::<Vec<_>>(), fork.keys().collect::<Vec<_>>());
    assert_eq!(original.len(), 2);
    assert!(original.values().all(|spent| !spent.copied) && fork.values().all(|spent| spent.copied));
}

#[test]
fn a_message_counts_all_its_steps() {
    let found = skimmed(include_str!("../testdata/log/made-steps.jsonl"));
    let sum = |of: fn(&ReplyTokens) -> u64| found.spent.iter().map(of).sum::<u64>();
    assert_eq!(sum(|spent| spent.input), 600 + 5_000_000_000 + 10);
    assert_eq!(sum(|spent| spent.output), 60 + 6 + 1);
    assert_eq!((sum(|spent| spent.cache_read), sum(|spent| spent.cache_write)), (60, 5));
    let cost: f64 = found.spent.iter().filter_map(|spent| spent.cost_usd).sum();
    assert!((cost - 0.61).abs() < 1e-9, "{cost}");
    let replies = found.spent.iter().filter(|spent| spent.total_tokens() > 0);
    let replies: Vec<_> = replies.map(|spent| (spent.input, spent.cost_usd)).collect();
    let steps = [(100, Some(0.1)), (200, Some(0.2)), (300, Some(0.3))];
    assert_eq!(replies, [&steps[..], &[(5_000_000_000, None), (10, Some(0.01))]].concat());
}

/// Returns the replies of a message with the given figures and steps: their input and cost.
fn replies_of(message: &str, steps: &[&str]) -> Vec<(u64, Option<f64>)> {
    let figures = |input: &str| {
        let (input, cost) = input.split_once(' ').unwrap();
        format!(r#""tokens":{{"input":{input},"output":1}},"cost":{cost}"#)
    };
    let mut rows = vec![format!(
        r#"{{"table":"message","row":{{"id":"m","role":"assistant","time":{{"created":1794000000002}},"modelID":"x",{}}}}}"#,
        figures(message)
    )];
    rows.extend(steps.iter().enumerate().map(|(number, step)| {
        let figures = figures(step);
        format!(r#"{{"table":"part","row":{{"id":"p{number}","messageID":"m","type":"step-finish",{figures}}}}}"#)
    }));
    let found = skimmed(&rows.join("\n"));
    let keys: std::collections::HashSet<_> = found.spent.iter().map(|spent| &spent.key).collect();
    assert_eq!(keys.len(), found.spent.len(), "each reply counts");
    found.spent.iter().map(|spent| (spent.input, spent.cost_usd)).collect()
}

#[test]
fn steps_are_replies_and_cost_what_the_message_says() {
    // The message has the tokens of the last step and the cost of all, as written by OpenCode 0.x.
    assert_eq!(replies_of("30 0.75", &["10 0.25", "30 0.5"]), [(10, Some(0.25)), (30, Some(0.5))]);
    assert_eq!(replies_of("10 0.5", &["10 0.25", "10 0.25"]), [(10, Some(0.25)), (10, Some(0.25))]);
    assert_eq!(replies_of("30 1", &["1 0", "30 0"]), [(1, Some(1.0 / 16.5)), (30, Some(1.0 - 1.0 / 16.5))]);
    // A missing step is included in the cost.
    assert_eq!(replies_of("30 0.75", &["30 0.5"]), [(30, Some(0.75))]);
    assert_eq!(replies_of("30 0.75", &[]), [(30, Some(0.75))]);
    assert_eq!(replies_of("30 0", &["10 0", "30 0"]), [(10, Some(0.0)), (30, Some(0.0))]);
}

#[test]
fn a_session_in_two_tables_counts_once() {
    let found = skimmed(include_str!("../testdata/log/made-stored.jsonl"));
    assert_eq!(found.spent.iter().map(|spent| spent.input).sum::<u64>(), 150);
    assert_eq!(found.facts.prompts, 1);
    let facts = &found.facts;
    assert_eq!((facts.parent.as_deref(), facts.cwd.as_deref()), (Some("ses_made"), Some("/w")));
    assert!(
        found.spent.iter().filter(|spent| spent.input > 0).all(|spent| spent.subagent.as_deref() == Some("explore"))
    );
    let tools: Vec<_> = found.spent.iter().flat_map(|spent| &spent.tools).map(|called| called.name.as_str()).collect();
    assert_eq!(tools, ["bash", "write", "read"]);
}

#[test]
fn a_subagents_session_says_for_whom_it_works() {
    let found = skimmed(include_str!("../testdata/log/task-child.jsonl"));
    assert_eq!(found.facts.parent.as_deref(), Some("ses_e1f462e24ffeoq2v1RzSjBcqu4"));
    assert!(found.spent.iter().any(|spent| spent.subagent.as_deref() == Some("general")));
}

/// Returns the problems of a record and its counted input.
fn read_badly(record: &str) -> (String, u64) {
    let found = skimmed(record);
    let wrong = found.trouble.iter().chain(&found.unknown).cloned().collect::<Vec<_>>().join(", ");
    (wrong, found.spent.iter().map(|spent| spent.input).sum())
}

#[test]
fn bad_data_is_told_once() {
    let of = |data: &str| read_badly(&format!(r#"{{"table":"message","row":{{"id":"m","data":{data}}}}}"#));
    for bad in ["null", "\"\"", "7", "[]", "\"{torn\"", "\"\\u0000\\u0000\""] {
        assert_eq!(of(bad), ("data of a row of message is no object".to_owned(), 0), "{bad}");
    }
    let whole = r#"{\"role\":\"assistant\",\"tokens\":{\"input\":5}}"#;
    for around in [format!("\"\\ufeff{whole}\""), format!("\"{whole}\\u0000\\u0000\""), format!("\"{whole}\"")] {
        assert_eq!(of(&around), (String::new(), 5), "{around}");
    }
    assert_eq!(read_badly(r#"{"table":"message","row":[]}"#).0, "a row of message is no object");
    assert_eq!(read_badly(r#"{"row":{"id":"m"}}"#).0, "one without a name");
    assert_eq!(read_badly("7").0, "a record is no object");
}

#[test]
fn bad_figures_are_told_and_the_others_count() {
    for (figures, wrong, input) in [
        (r#""tokens":{"input":5,"output":null,"cache":null},"cost":null"#, "", 5),
        (r#""tokens":{"input":-5,"output":1}"#, "input of a reply is not a number", 0),
        (r#""tokens":{"input":5,"output":"7"}"#, "output of a reply is not a number", 5),
        (r#""tokens":{"input":5,"reasoning":{}}"#, "reasoning of a reply is not a number", 5),
        (r#""tokens":{"input":5,"cache":{"read":"x"}}"#, "read of the cache of a reply is not a number", 5),
        (r#""tokens":{"input":5,"cache":[]}"#, "the tokens of the cache of a reply are no figures", 5),
        (r#""tokens":[]"#, "the tokens of a reply are no figures", 0),
        (r#""tokens":{"input":5},"cost":"x""#, "cost of a reply is not a number", 5),
    ] {
        let data = format!(r#"{{"role":"assistant","type":"step-finish",{figures}}}"#);
        for table in ["message", "part"] {
            let row = format!(r#"{{"table":"{table}","row":{{"id":"m","message_id":"n","data":{data}}}}}"#);
            assert_eq!(read_badly(&row), (wrong.to_owned(), input), "{row}");
        }
    }
}
