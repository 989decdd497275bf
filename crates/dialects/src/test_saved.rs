//! What projections save: that a change of it does not go unnoticed, and that it does not grow.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use switchboard_event::{Event, Id};

use crate::{DIALECTS, Dialect, Messages, Projection, test_sessions::everything};

/// What is seen when they differ.
const HINT: &str =
    "if this changed, raise `revision` in the dialect's mod.rs; then `cargo xtask snapshots`, and remove the old";

/// It is saved after so many events: not a divisor of anything, so as to be now here, now there in what repeats.
const PIECE: usize = 17;

/// What a dialect makes of one session that has everything.
struct Made {
    messages: Vec<Vec<u8>>,
    /// After each piece, with the keys in order.
    states: Vec<Value>,
}

impl Made {
    fn by(dialect: &Dialect) -> Self {
        let (mut projection, mut out) = ((dialect.projection)(), Messages::default());
        let events = everything().events;
        let mut states = Vec::new();
        for piece in events.chunks(PIECE) {
            piece.iter().for_each(|event| projection.event(event, &mut out));
            states.push(in_order(serde_json::from_slice(&projection.save().unwrap()).unwrap()));
        }
        Self { messages: out.iter().map(<[u8]>::to_vec).collect(), states }
    }

    /// A change of anything changes this.
    fn print(&self) -> String {
        let states: Vec<_> = self.states.iter().map(|state| state.to_string().into_bytes()).collect();
        let largest = self.states.iter().max_by_key(|state| state.to_string().len()).unwrap();
        let largest = sample(largest);
        format!(
            "{} messages: {}\n{} states: {}\nthe largest: {largest:#}",
            self.messages.len(),
            hash(&self.messages),
            states.len(),
            hash(&states),
        )
    }
}

/// The same with the keys in order, whatever order they are read in.
fn in_order(state: Value) -> Value {
    match state {
        Value::Array(list) => list.into_iter().map(in_order).collect(),
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.into_iter().map(|(name, value)| (name, in_order(value))).collect();
            sorted.into_iter().collect()
        }
        other => other,
    }
}

/// The first of every list, for people to look at.
fn sample(state: &Value) -> Value {
    match state {
        Value::Array(list) => list.first().map(sample).into_iter().collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), sample(value))).collect(),
        other => other.clone(),
    }
}

fn hash(texts: &[Vec<u8>]) -> String {
    Sha256::digest(texts.join(&b'\n')).iter().take(8).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

#[test]
fn what_changes_has_another_revision() {
    for dialect in DIALECTS.iter().filter(|dialect| !dialect.verbatim) {
        let print = Made::by(dialect).print();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(format!("{}/testdata", dialect.name));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_description(HINT);
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
    let session = everything().events;
    for dialect in DIALECTS {
        let mut projection = (dialect.projection)();
        let mut size_after = |rounds: std::ops::Range<u64>| {
            rounds.for_each(|round| play(&mut *projection, &session, round));
            projection.save().unwrap().len()
        };
        // After so many rounds, all that is remembered up to a number has come to it.
        let (early, late) = (size_after(10..80), size_after(80..99));
        assert!(late <= early + 64, "{} grows: {early} bytes, then {late}", dialect.name);
    }
}

/// Plays the session that has everything, with ids and places that it did not have before.
fn play(projection: &mut dyn Projection, session: &[Event], round: u64) {
    let anew = |id: &Option<Id>| id.as_ref().map(|id| Id::from(format!("{id}-{round}")));
    for event in session {
        let seq = round * session.len() as u64 + event.seq;
        let (item, parent, thread) = (anew(&event.item), anew(&event.parent), anew(&event.thread));
        projection.event(&Event { seq, item, parent, thread, ..event.clone() }, &mut Messages::default());
    }
}
