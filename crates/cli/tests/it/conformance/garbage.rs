//! Streams that no agent ever sent: random bytes, random JSON, spoiled recordings. The same every time; `cargo xtask
//! fuzz` tries others.

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use switchboard_agents::SOURCES;
use switchboard_testkit::{
    dice::SeededRng,
    ledger::IdReuse,
    mutate::{RecordingVocabulary, mutate_stream},
};

use super::Suite;

/// Checks streams of a strategy, through every source.
#[track_caller]
fn check(cases: u32, stream: impl Strategy<Value = Vec<u8>>) {
    let suite = Suite::new();
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
    let words = RecordingVocabulary::from_recordings(&Suite::new().recordings);
    let line = json(words).prop_map(|value| format!("{value}\n"));
    check(50, vec(line, 0..12).prop_map(|lines| lines.concat().into_bytes()));
}

/// JSON made of the words that agents use.
fn json(words: RecordingVocabulary) -> impl Strategy<Value = serde_json::Value> {
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

/// Spoiled in this many ways, each recording.
const WAYS: u64 = 3;

#[test]
fn spoiled_recordings() {
    let suite = Suite::new();
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
