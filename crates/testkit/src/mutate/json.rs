//! Valid JSON that no agent sends: fields missing, renamed, of another type, or unknown.

use serde_json::{Value, json};
use switchboard_agents::{JsonObject, JsonView};

use super::RecordingVocabulary;
use crate::dice::SeededRng;

/// The name of the fields that [`with_unknown_fields`] adds.
pub const UNKNOWN_FIELD: &str = "zz_unknown";

/// Corrupts one value in one line.
pub fn corrupt_record(lines: &mut [Vec<u8>], words: &RecordingVocabulary, dice: &mut SeededRng) {
    let at = dice.next_below(lines.len());
    let Some(line) = lines.get_mut(at) else { return };
    let Ok(mut record) = serde_json::from_slice::<Value>(line) else { return };
    corrupt_value(&mut record, words, dice);
    *line = format!("{record}\n").into_bytes();
}

/// Follows a random path and corrupts the value there.
fn corrupt_value(value: &mut Value, words: &RecordingVocabulary, dice: &mut SeededRng) {
    let stop = dice.once_in(3);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let key = fields.keys().nth(dice.next_below(fields.len())).cloned().unwrap_or_default();
            if !stop {
                return fields.get_mut(&key).into_iter().for_each(|field| corrupt_value(field, words, dice));
            }
            let field = fields.remove(&key).unwrap_or_default();
            match dice.next_below(4) {
                0 => {}
                1 => {
                    fields.insert(dice.choose(&words.keys).cloned().unwrap_or_default(), field);
                }
                2 => {
                    fields.insert(key, replacement_value(&field, words, dice));
                }
                _ => {
                    fields.insert(key, field);
                    fields.insert(UNKNOWN_FIELD.to_owned(), words.random_value(dice, 2));
                }
            }
        }
        Value::Array(elements) if !elements.is_empty() && !stop => {
            let at = dice.next_below(elements.len());
            elements.get_mut(at).into_iter().for_each(|element| corrupt_value(element, words, dice));
        }
        other => *other = replacement_value(other, words, dice),
    }
}

/// Returns another value to replace this one.
fn replacement_value(value: &Value, words: &RecordingVocabulary, dice: &mut SeededRng) -> Value {
    match (dice.next_below(6), value) {
        (0, value) => json!([value]),
        (1, value) => json!({ "value": value }),
        (2, Value::String(text)) => text.chars().take(dice.next_below(text.len() + 1)).collect::<String>().into(),
        (3, Value::String(text)) => format!("{text}{text}\u{0}\u{1F600}\n").into(),
        (4, value) if !value.is_string() => value.to_string().into(),
        _ => words.random_value(dice, 2),
    }
}

/// Adds an unknown field to every object of a stream. Maps are left alone, because their keys are data.
#[must_use]
pub fn with_unknown_fields(stream: &[u8]) -> Vec<u8> {
    let line = |line: &[u8]| match str::from_utf8(line).ok().and_then(JsonView::parse) {
        Some(record) => format!("{}\n", add_unknown_fields(record)).into_bytes(),
        None => line.to_vec(),
    };
    stream.split_inclusive(|byte| *byte == b'\n').flat_map(line).collect()
}

fn add_unknown_fields(value: JsonView<'_>) -> String {
    if value.raw_text().starts_with('[') {
        return format!("[{}]", value.as_array().into_iter().map(add_unknown_fields).collect::<Vec<_>>().join(","));
    }
    let fields = value.as_object();
    if is_map(&fields) {
        return value.raw_text().to_owned();
    }
    let field = |(key, field): (&str, JsonView<'_>)| match key {
        // Properties of a JSON Schema look like fields but are data.
        "properties" => format!("{}:{}", Value::from(key), field.raw_text()),
        key => format!("{}:{}", Value::from(key), add_unknown_fields(field)),
    };
    let unknown = format!("{}:{{\"new\":[1]}}", Value::from(UNKNOWN_FIELD));
    format!("{{{}}}", fields.iter().map(field).chain([unknown]).collect::<Vec<_>>().join(","))
}

/// Returns whether the keys are data instead of field names; also true for an empty object.
fn is_map(fields: &JsonObject<'_>) -> bool {
    let is_name = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || "_$".contains(c));
    fields.is_empty() || !fields.iter().all(|(key, _)| is_name(key))
}
