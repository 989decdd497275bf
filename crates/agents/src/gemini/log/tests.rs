//! Usage and messages that the scan of a log finds.

use switchboard_event::{EventBody, Status};

use super::LOGS;
use crate::{LogFile, PassageKind, Record, RecordTranslator, ScanDepth, ScanOutput, TranslatorOptions, find_source};

fn scan_records(records: &str) -> ScanOutput {
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

fn passages_of_kind(found: &ScanOutput, kind: PassageKind) -> Vec<&str> {
    let begins = std::iter::once(0).chain(found.passages.iter().map(|passage| passage.end));
    let passages = found.passages.iter().zip(begins).filter(|(passage, _)| passage.kind == kind);
    passages.filter_map(|(passage, begin)| found.text.get(begin..passage.end)).collect()
}

#[test]
fn what_was_taken_back_was_used() {
    let found = scan_records(include_str!("../testdata/log/tmp/made/chats/session-2026-11-01T10-00-5a5a0001.jsonl"));
    let inputs: Vec<_> = found.spent.iter().map(|spent| (spent.input, spent.cache_read, spent.output)).collect();
    // Tokens of tool use are input, those of thoughts output.
    assert_eq!(inputs, [(60, 40, 10), (200, 0, 25), (307, 0, 30), (1_000_000_000, 4_000_000_000, 40)]);
    assert_eq!(passages_of_kind(&found, PassageKind::UserMessage), ["first", "second", "other", "fresh start"]);
    assert_eq!((found.facts.prompts, found.facts.title.as_deref()), (4, Some("Numbers")));
}

#[test]
fn a_message_that_is_written_again_counts_once() {
    let found = scan_records(include_str!("../testdata/log/tmp/made/chats/session-2026-11-01T10-00-5a5a0002.jsonl"));
    let of = |what: fn(&crate::ReplyTokens) -> u64| found.spent.iter().map(what).sum::<u64>();
    assert_eq!((of(|spent| spent.input), of(|spent| spent.output)), (100 + 7 + 50, 10 + 9 + 3 + 5));
    assert_eq!(passages_of_kind(&found, PassageKind::UserMessage), ["look at @file", "what is this?"]);
    assert_eq!(passages_of_kind(&found, PassageKind::Reasoning), ["Plan: look first"]);
    assert_eq!(
        passages_of_kind(&found, PassageKind::AssistantMessage),
        ["Looking.", "Done.", "patched in", "A picture."]
    );
    assert_eq!(found.facts.cwd.as_deref(), Some("/w/made"));
    let tools: Vec<_> = found.spent.iter().flat_map(|spent| &spent.tools).map(|called| called.id.as_str()).collect();
    assert_eq!(tools, ["t1", "t2", "t3", "t4"]);
}

#[test]
fn bad_records_are_told_once() {
    let wrong = |record: &str| {
        let found = scan_records(record);
        found.trouble.into_iter().chain(found.unknown).collect::<Vec<_>>().join(", ")
    };
    let of = |tokens: &str| wrong(&format!(r#"{{"id":"m","type":"gemini","content":"x","tokens":{tokens}}}"#));
    assert_eq!(of(r#"{"input":1,"output":null}"#), "");
    assert_eq!(of("null"), "");
    assert_eq!(of("[]"), "the tokens of a message are no figures");
    assert_eq!(of("\"x\""), "the tokens of a message are no figures");
    assert_eq!(of(r#"{"input":"1","output":-5}"#), "input of a message is not a number");
    let set = r#"{"$set":{"messages":[{"id":"m","type":"gemini","tokens":{"output":{}}}]}}"#;
    assert_eq!(wrong(set), "output of a message is not a number");
    for record in ["null", "7", "[]"] {
        assert_eq!(wrong(record), "a record is no object");
    }
    assert_eq!(wrong("{}"), "one without a name");
    assert_eq!(wrong(r#"{"type":"hologram"}"#), "hologram");
}

#[test]
fn a_session_that_was_continued_repeats_nothing() {
    let found = scan_records(include_str!("../testdata/log/tmp/gp/chats/session-2026-11-15T19-24-11111111.jsonl"));
    assert_eq!(passages_of_kind(&found, PassageKind::UserMessage), ["remember blue", "and again", "third"]);
    assert_eq!(passages_of_kind(&found, PassageKind::AssistantMessage).len(), 3);
    assert_eq!(found.spent.iter().map(|spent| spent.output).sum::<u64>(), 45);
    assert!(passages_of_kind(&found, PassageKind::SystemMessage).is_empty());
}

#[test]
fn only_known_failures_are_failures() {
    let session = include_str!("../testdata/log/tmp/gp/chats/session-2026-11-15T19-23-c8a40b5d.jsonl");
    for (status, expected) in [
        ("success", Status::Completed),
        ("error", Status::Failed),
        ("cancelled", Status::Interrupted),
        ("of_a_later_version", Status::Interrupted),
    ] {
        let session = session.replace(r#""status":"success""#, &format!(r#""status":"{status}""#));
        let mut translator = RecordTranslator::new(find_source("gemini:log").unwrap(), TranslatorOptions::default());
        let mut events = Vec::new();
        for line in session.lines() {
            translator.translate_record(&Record::from_line(line.as_bytes()).unwrap(), &mut events);
        }
        let ended = events.iter().find_map(|event| match &event.body {
            EventBody::ItemCompleted(item) => item.call.as_ref().map(|call| (item.status, call.error.is_some())),
            _ => None,
        });
        assert_eq!(ended, Some((expected, status == "error" || status == "cancelled")), "{status}");
    }
}
