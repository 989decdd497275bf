//! Unknown fields: a newer agent adds some, and nothing changes but the record that is kept.

use serde_json::Value;
use switchboard_testkit::{
    ledger::InvariantViolation,
    mutate::{UNKNOWN_FIELD, with_unknown_fields},
    play::{stored_json, stream_events},
    recording::Recording,
};

use super::Suite;

#[test]
fn unknown_fields_change_nothing() {
    Suite::new().each("unknown fields", |recording| changed(recording).into_iter().collect());
}

fn changed(recording: &Recording) -> Option<InvariantViolation> {
    let plain = without_records(recording, &recording.bytes);
    let more = without_records(recording, &with_unknown_fields(&recording.bytes));
    let at = plain.iter().zip(&more).position(|(a, b)| a != b).unwrap_or(plain.len().min(more.len()));
    let show = |list: &[Value]| list.get(at).map_or("nothing".to_owned(), |event| event["data"].to_string());
    let why = || format!("event {} is {}, not {}", at + 1, show(&more), show(&plain));
    (plain != more).then(|| InvariantViolation { rule: "unknown fields change nothing", why: why() })
}

/// The events without their records. What an event repeats of a record has the field too, and that is right.
fn without_records(recording: &Recording, bytes: &[u8]) -> Vec<Value> {
    let events = stream_events(recording.source, bytes);
    let mut values: Vec<Value> = stored_json(&events).iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    for value in &mut values {
        value.as_object_mut().unwrap().remove("native");
        forget(value);
    }
    values
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove(UNKNOWN_FIELD);
            fields.values_mut().for_each(forget);
        }
        Value::Array(elements) => elements.iter_mut().for_each(forget),
        // What an agent answers may be JSON in a text.
        Value::String(text) if text.starts_with(['{', '[']) => {
            if let Ok(mut inner) = serde_json::from_str(text) {
                forget(&mut inner);
                *text = inner.to_string();
            }
        }
        _ => {}
    }
}
