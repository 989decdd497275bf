//! Tests of saved states: format changes are detected, and the size is bounded.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use switchboard_event::{Event, Id};

use crate::{DIALECTS, Dialect, MessageBuffer, Projection, test_sessions::full_sample_session};

/// Shown when a snapshot differs.
const REVISION_HINT: &str =
    "if this changed, raise `revision` in the dialect's mod.rs; then `cargo xtask snapshots`, and remove the old";

/// Number of events between saves. It divides no repeating pattern, so states are saved at varying positions.
const EVENTS_PER_PIECE: usize = 17;

/// The messages and states of a dialect for the full sample session.
struct ProjectionOutput {
    messages: Vec<Vec<u8>>,
    /// The states after each piece, with sorted keys.
    states: Vec<Value>,
}

impl ProjectionOutput {
    fn from_dialect(dialect: &Dialect) -> Self {
        let (mut projection, mut out) = ((dialect.projection)(), MessageBuffer::default());
        let events = full_sample_session().events;
        let mut states = Vec::new();
        for piece in events.chunks(EVENTS_PER_PIECE) {
            piece.iter().for_each(|event| projection.project_event(event, &mut out));
            states.push(sort_keys(serde_json::from_slice(&projection.save().unwrap()).unwrap()));
        }
        Self { messages: out.iter().map(<[u8]>::to_vec).collect(), states }
    }

    /// Returns a text that changes with any message or state.
    fn fingerprint(&self) -> String {
        let states: Vec<_> = self.states.iter().map(|state| state.to_string().into_bytes()).collect();
        let largest = self.states.iter().max_by_key(|state| state.to_string().len()).unwrap();
        let largest = first_of_lists(largest);
        format!(
            "{} messages: {}\n{} states: {}\nthe largest: {largest:#}",
            self.messages.len(),
            short_hash(&self.messages),
            states.len(),
            short_hash(&states),
        )
    }
}

/// Sorts the keys of all objects.
fn sort_keys(state: Value) -> Value {
    match state {
        Value::Array(list) => list.into_iter().map(sort_keys).collect(),
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.into_iter().map(|(name, value)| (name, sort_keys(value))).collect();
            sorted.into_iter().collect()
        }
        other => other,
    }
}

/// Keeps the first element of every list, for readable snapshots.
fn first_of_lists(state: &Value) -> Value {
    match state {
        Value::Array(list) => list.first().map(first_of_lists).into_iter().collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), first_of_lists(value))).collect(),
        other => other.clone(),
    }
}

fn short_hash(texts: &[Vec<u8>]) -> String {
    Sha256::digest(texts.join(&b'\n')).iter().take(8).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

#[test]
fn what_changes_has_another_revision() {
    for dialect in DIALECTS.iter().filter(|dialect| !dialect.verbatim) {
        let print = ProjectionOutput::from_dialect(dialect).fingerprint();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(format!("{}/testdata", dialect.name));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_description(REVISION_HINT);
        settings.bind(|| insta::assert_snapshot!(format!("saved_{}", dialect.revision), print));
    }
}

#[test]
fn what_is_not_a_state_is_refused() {
    for dialect in DIALECTS {
        for other in ["", "{}", "[1]", "7", "{\"track\":null}", "{\"track\":{\"items\":{}}}"] {
            assert!((dialect.restore)(other.as_bytes()).is_none(), "{} takes {other}", dialect.name);
        }
    }
}

#[test]
fn numbers_are_read_as_they_were_written() {
    for cost in [31.245270191439438_f64, 121.48791951161945, 0.1 + 0.2] {
        let read: f64 = serde_json::from_str(&cost.to_string()).unwrap();
        assert!(read.to_bits() == cost.to_bits(), "{cost} became {read}");
    }
}

#[test]
fn an_endless_session_is_not_remembered() {
    let session = full_sample_session().events;
    for dialect in DIALECTS {
        let mut projection = (dialect.projection)();
        let mut size_after = |rounds: std::ops::Range<u64>| {
            rounds.for_each(|round| play_session(&mut *projection, &session, round));
            projection.save().unwrap().len()
        };
        // By then, every bounded collection has reached its limit.
        let (early, late) = (size_after(10..80), size_after(80..99));
        assert!(late <= early + 64, "{} grows: {early} bytes, then {late}", dialect.name);
    }
}

/// Plays the session with new item ids and sequence numbers.
fn play_session(projection: &mut dyn Projection, session: &[Event], round: u64) {
    let anew = |id: &Option<Id>| id.as_ref().map(|id| Id::from(format!("{id}-{round}")));
    for event in session {
        let seq = round * session.len() as u64 + event.seq;
        let (item, parent, thread) = (anew(&event.item), anew(&event.parent), anew(&event.thread));
        projection.project_event(&Event { seq, item, parent, thread, ..event.clone() }, &mut MessageBuffer::default());
    }
}
