//! Streams that no agent ever sent: random bytes, random JSON, mutated recordings, and records that are nested deeper than any
//! stack. They are the same every time; `cargo xtask fuzz` tries others.

use std::{collections::HashSet, thread};

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::Value;
use switchboard_agents::SOURCES;
use switchboard_testkit::ledger::{IdReuse, InvariantViolation};
use switchboard_testkit::mutate::{RecordingVocabulary, mutate_stream};
use switchboard_testkit::random::SeededRng;
use switchboard_testkit::recording::Recording;
use switchboard_testkit::{log_scan, parallel};

use super::ConformanceSuite;
use crate::verdict;

/// The number of mutations per recording.
const WAYS: u64 = 3;

/// The nesting depth. A recursive function overflows the stack.
const DEPTH: usize = 3_000;

const STACK: usize = 256 << 10;

/// A placeholder for the nested value.
const MARK: &str = "here it goes deep";

/// Fields that identify the kind of a record.
const KINDS: &[&str] = &["type", "method", "table", "sessionUpdate"];

/// Checks generated streams with every source.
#[track_caller]
fn check(cases: u32, stream: impl Strategy<Value = Vec<u8>>) {
    let suite = ConformanceSuite::new();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let result = runner.run(&stream, |stream| {
        for source in SOURCES.iter().copied().flatten() {
            let checked = suite.checker.check_stream(source, &stream, IdReuse::AfterEnd);
            checked.map_err(|broken| TestCaseError::fail(format!("{}: {broken}", source.name)))?;
        }
        Ok(())
    });
    result.unwrap();
}

#[test]
fn random_bytes() {
    let byte = prop_oneof![any::<u8>(), Just(b'\n'), Just(b'"'), Just(b'{'), Just(b'}'), Just(0), Just(0xff)];
    check(50, vec(byte, 0..250));
}

#[test]
fn random_json() {
    let words = RecordingVocabulary::from_recordings(&ConformanceSuite::new().recordings);
    let line = json(words).prop_map(|value| format!("{value}\n"));
    check(50, vec(line, 0..12).prop_map(|lines| lines.concat().into_bytes()));
}

/// Generates JSON from the words that agents use.
fn json(words: RecordingVocabulary) -> impl Strategy<Value = Value> {
    use serde_json::Value;
    let key = proptest::sample::select(words.keys);
    let word = proptest::sample::select(words.words);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let nested = leaf.prop_recursive(4, 24, 6, {
        let key = key.clone();
        move |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                vec((key.clone(), inner), 0..6).prop_map(|fields| fields.into_iter().collect()),
            ]
        }
    });
    // Most records are objects, and most have a type.
    (word, vec((key, nested), 0..8)).prop_map(|(word, fields)| {
        let mut record: serde_json::Map<_, _> = fields.into_iter().collect();
        record.entry("type").or_insert(word.into());
        record.into()
    })
}

#[test]
fn spoiled_recordings() {
    let suite = ConformanceSuite::new();
    let words = RecordingVocabulary::from_recordings(&suite.recordings);
    suite.each("spoiled recordings", |recording| {
        let spoiled = (0..WAYS).map(|way| {
            let mut dice = SeededRng::from_name(&format!("{recording} {way}"));
            let stream = mutate_stream(&recording.bytes, &words, &mut dice);
            suite.checker.check_stream(recording.source, &stream, IdReuse::AfterEnd)
        });
        spoiled.filter_map(Result::err).collect()
    });
}

#[test]
fn deep_nesting_does_no_harm() {
    let suite = ConformanceSuite::new();
    let cases = cases(&suite.recordings);
    let found = parallel::map(&cases, |case| on_a_small_stack(|| case.check(&suite)));
    verdict("deep nesting", found.into_iter().flatten());
}

struct NestedCase<'a> {
    recording: &'a Recording,
    /// The record with the placeholder in one field.
    record: String,
    field: FieldPath,
}

/// The location of a field.
struct FieldPath {
    pointer: String,
    /// The name and the kind of record; each shape is tried once.
    shape: String,
    name: String,
    /// The field contains JSON as text.
    is_text: bool,
}

fn cases(recordings: &[Recording]) -> Vec<NestedCase<'_>> {
    let (mut seen, mut cases) = (HashSet::new(), Vec::new());
    for recording in recordings {
        for line in recording.bytes.split(|byte| *byte == b'\n') {
            let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
            let mut fields = Vec::new();
            collect(&record, "", recording.source.name, &mut fields);
            for field in fields.into_iter().filter(|field| seen.insert(field.shape.clone())) {
                let mut record = record.clone();
                *record.pointer_mut(&field.pointer).unwrap() = MARK.into();
                cases.push(NestedCase { recording, record: record.to_string(), field });
            }
        }
    }
    cases
}

fn collect(value: &Value, pointer: &str, shape: &str, fields: &mut Vec<FieldPath>) {
    if let Value::Array(elements) = value {
        for (number, element) in elements.iter().enumerate() {
            collect(element, &format!("{pointer}/{number}"), shape, fields);
        }
    }
    let Value::Object(object) = value else { return };
    let kinds = KINDS.iter().filter_map(|kind| object.get(*kind)?.as_str()).collect::<Vec<_>>().join(",");
    for (name, value) in object {
        let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        let shape = format!("{shape} {kinds}/{name}");
        let is_text = value.as_str().is_some_and(|text| text.starts_with(['{', '[']));
        collect(value, &pointer, &shape, fields);
        fields.push(FieldPath { pointer, shape, name: name.clone(), is_text });
    }
}

impl NestedCase<'_> {
    /// Returns what is wrong, for any way of nesting.
    fn check(&self, suite: &ConformanceSuite) -> Option<String> {
        let name = serde_json::to_string(&self.field.name).unwrap();
        let nested = |open: &str, close: &str| open.repeat(DEPTH) + "\"x\"" + &close.repeat(DEPTH);
        let ways = [nested("[", "]"), nested(&format!("{{{name}:"), "}"), nested(&format!("[{{{name}:"), "}]")];
        let broken = ways.into_iter().find_map(|way| self.check_way(&way, suite).err())?;
        Some(format!("{} {}: {broken}", self.recording, self.field.shape))
    }

    fn check_way(&self, deep: &str, suite: &ConformanceSuite) -> Result<(), InvariantViolation> {
        let deep = if self.field.is_text { serde_json::to_string(deep).unwrap() } else { deep.to_owned() };
        let bytes = self.record.replace(&format!("\"{MARK}\""), &deep).into_bytes();
        assert!(bytes.len() > DEPTH, "the mark is not in {}", self.record);
        suite.checker.check_survival(self.recording.source, &bytes)?;
        log_scan::check_log_scan(&Recording { bytes, ..self.recording.clone() })
    }
}

/// Runs the work on a small stack, which overflows if any would.
fn on_a_small_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).unwrap();
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
