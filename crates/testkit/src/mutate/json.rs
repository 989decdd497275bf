//! Records that are JSON and not what the agent says: fields missing, renamed, of another type, or unknown.

use serde_json::{Value, json};
use switchboard_agents::{Json, Object};

use super::Vocabulary;
use crate::dice::Dice;

/// The name of the fields that [`with_unknown_fields`] adds.
pub const UNKNOWN_FIELD: &str = "zz_unknown";

/// Spoils one value somewhere in one line.
pub fn spoil_line(lines: &mut [Vec<u8>], words: &Vocabulary, dice: &mut Dice) {
    let at = dice.below(lines.len());
    let Some(line) = lines.get_mut(at) else { return };
    let Ok(mut record) = serde_json::from_slice::<Value>(line) else { return };
    spoil(&mut record, words, dice);
    *line = format!("{record}\n").into_bytes();
}

/// Goes down a random path and spoils what it finds there.
fn spoil(value: &mut Value, words: &Vocabulary, dice: &mut Dice) {
    let stop = dice.once_in(3);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let key = fields.keys().nth(dice.below(fields.len())).cloned().unwrap_or_default();
            if !stop {
                return fields.get_mut(&key).into_iter().for_each(|field| spoil(field, words, dice));
            }
            let field = fields.remove(&key).unwrap_or_default();
            match dice.below(4) {
                0 => {}
                1 => {
                    fields.insert(dice.pick(&words.keys).cloned().unwrap_or_default(), field);
                }
                2 => {
                    fields.insert(key, another(&field, words, dice));
                }
                _ => {
                    fields.insert(key, field);
                    fields.insert(UNKNOWN_FIELD.to_owned(), words.value(dice, 2));
                }
            }
        }
        Value::Array(elements) if !elements.is_empty() && !stop => {
            let at = dice.below(elements.len());
            elements.get_mut(at).into_iter().for_each(|element| spoil(element, words, dice));
        }
        other => *other = another(other, words, dice),
    }
}

/// Something else in the place of a value.
fn another(value: &Value, words: &Vocabulary, dice: &mut Dice) -> Value {
    match (dice.below(6), value) {
        (0, value) => json!([value]),
        (1, value) => json!({ "value": value }),
        (2, Value::String(text)) => text.chars().take(dice.below(text.len() + 1)).collect::<String>().into(),
        (3, Value::String(text)) => format!("{text}{text}\u{0}\u{1F600}\n").into(),
        (4, value) if !value.is_string() => value.to_string().into(),
        _ => words.value(dice, 2),
    }
}

/// The same stream with a field that nobody knows in every object, and everything else in its place. Maps are left
/// alone: there, a name is data.
#[must_use]
pub fn with_unknown_fields(stream: &[u8]) -> Vec<u8> {
    let line = |line: &[u8]| match str::from_utf8(line).ok().and_then(Json::parse) {
        Some(record) => format!("{}\n", with_unknown(record)).into_bytes(),
        None => line.to_vec(),
    };
    stream.split_inclusive(|byte| *byte == b'\n').flat_map(line).collect()
}

fn with_unknown(value: Json<'_>) -> String {
    if value.text().starts_with('[') {
        return format!("[{}]", value.array().into_iter().map(with_unknown).collect::<Vec<_>>().join(","));
    }
    let fields = value.object();
    if is_map(&fields) {
        return value.text().to_owned();
    }
    let field = |(key, field): (&str, Json<'_>)| match key {
        // The properties of a JSON Schema look like fields, and are data.
        "properties" => format!("{}:{}", Value::from(key), field.text()),
        key => format!("{}:{}", Value::from(key), with_unknown(field)),
    };
    let unknown = format!("{}:{{\"new\":[1]}}", Value::from(UNKNOWN_FIELD));
    format!("{{{}}}", fields.iter().map(field).chain([unknown]).collect::<Vec<_>>().join(","))
}

/// Its keys are not names of fields, or there are none to tell by.
fn is_map(fields: &Object<'_>) -> bool {
    let is_name = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || "_$".contains(c));
    fields.is_empty() || !fields.iter().all(|(key, _)| is_name(key))
}
