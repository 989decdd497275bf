//! Mutations of a stream: what a broken pipe, another version of the agent or a faulty agent might send. The same seed
//! always gives the same mutation.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use switchboard_agents::{JsonObject, JsonView};

use crate::random::SeededRng;
use crate::recording::Recording;

/// Changes, inserts or removes bytes of a line: invalid JSON, invalid UTF-8, NUL, an embedded newline.
fn corrupt_bytes(lines: &mut [Vec<u8>], rng: &mut SeededRng) {
    let at = rng.next_below(lines.len());
    let Some(line) = lines.get_mut(at) else { return };
    for _ in 0..=rng.next_below(3) {
        let at = rng.next_below(line.len());
        let byte = [0, b'\n', b'\r', b'"', b'\\', b'{', b'}', 0x80, 0xff][rng.next_below(9)];
        match rng.next_below(3) {
            0 => line.insert(at, byte),
            1 if !line.is_empty() => {
                line.remove(at);
            }
            _ => {
                if let Some(old) = line.get_mut(at) {
                    *old = byte;
                }
            }
        }
    }
}

/// The name of the fields that [`with_unknown_fields`] adds.
pub const UNKNOWN_FIELD: &str = "zz_unknown";

/// Corrupts one value in one line.
fn corrupt_record(lines: &mut [Vec<u8>], words: &RecordingVocabulary, rng: &mut SeededRng) {
    let at = rng.next_below(lines.len());
    let Some(line) = lines.get_mut(at) else { return };
    let Ok(mut record) = serde_json::from_slice::<Value>(line) else { return };
    corrupt_value(&mut record, words, rng);
    *line = format!("{record}\n").into_bytes();
}

/// Follows a random path and corrupts the value there.
fn corrupt_value(value: &mut Value, words: &RecordingVocabulary, rng: &mut SeededRng) {
    let stop = rng.once_in(3);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let key = fields.keys().nth(rng.next_below(fields.len())).cloned().unwrap_or_default();
            if !stop {
                return fields.get_mut(&key).into_iter().for_each(|field| corrupt_value(field, words, rng));
            }
            let field = fields.remove(&key).unwrap_or_default();
            match rng.next_below(4) {
                0 => {}
                1 => {
                    fields.insert(rng.choose(&words.keys).cloned().unwrap_or_default(), field);
                }
                2 => {
                    fields.insert(key, replacement_value(&field, words, rng));
                }
                _ => {
                    fields.insert(key, field);
                    fields.insert(UNKNOWN_FIELD.to_owned(), words.random_value(rng, 2));
                }
            }
        }
        Value::Array(elements) if !elements.is_empty() && !stop => {
            let at = rng.next_below(elements.len());
            elements.get_mut(at).into_iter().for_each(|element| corrupt_value(element, words, rng));
        }
        other => *other = replacement_value(other, words, rng),
    }
}

/// Returns another value to replace this one.
fn replacement_value(value: &Value, words: &RecordingVocabulary, rng: &mut SeededRng) -> Value {
    match (rng.next_below(6), value) {
        (0, value) => json!([value]),
        (1, value) => json!({ "value": value }),
        (2, Value::String(text)) => text.chars().take(rng.next_below(text.len() + 1)).collect::<String>().into(),
        (3, Value::String(text)) => format!("{text}{text}\u{0}\u{1F600}\n").into(),
        (4, value) if !value.is_string() => value.to_string().into(),
        _ => words.random_value(rng, 2),
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

/// Removes, repeats, moves or inserts lines, or truncates the stream.
fn corrupt_lines(lines: &mut Vec<Vec<u8>>, words: &RecordingVocabulary, rng: &mut SeededRng) {
    let (at, other) = (rng.next_below(lines.len()), rng.next_below(lines.len()));
    match rng.next_below(7) {
        0 if !lines.is_empty() => {
            lines.remove(at);
        }
        1 => {
            if let Some(line) = lines.get(at).cloned() {
                lines.insert(other, line);
            }
        }
        2 if !lines.is_empty() => lines.swap(at, other),
        3 => lines.truncate(at),
        4 => shuffle_window(lines, at, rng),
        5 => lines.insert(at, strange_line(words, rng)),
        _ => {
            let from = at.min(other);
            let again: Vec<_> = lines.iter().skip(from).take(1 + rng.next_below(8)).cloned().collect();
            lines.splice(other..other, again);
        }
    }
}

fn shuffle_window(lines: &mut [Vec<u8>], at: usize, rng: &mut SeededRng) {
    let end = lines.len().min(at + 6);
    let Some(window) = lines.get_mut(at..end) else { return };
    for i in 0..window.len() {
        window.swap(i, rng.next_below(window.len()));
    }
}

fn strange_line(words: &RecordingVocabulary, rng: &mut SeededRng) -> Vec<u8> {
    let line = match rng.next_below(6) {
        0 => b"npm WARN something that is no record".to_vec(),
        1 => b"{\"half\":".to_vec(),
        2 => vec![0xff, 0x00, 0xfe],
        3 => br#"{"lone":"\ud800","lone":1}"#.to_vec(),
        4 => format!("{}{}", "[".repeat(300), "]".repeat(300)).into_bytes(),
        _ => words.random_record(rng).to_string().into_bytes(),
    };
    [line, b"\n".to_vec()].concat()
}

/// Mutates a stream in one to four ways.
#[must_use]
pub fn mutate_stream(stream: &[u8], words: &RecordingVocabulary, rng: &mut SeededRng) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = stream.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=rng.next_below(4) {
        match rng.next_below(10) {
            0..6 => corrupt_record(&mut lines, words, rng),
            6..9 => corrupt_lines(&mut lines, words, rng),
            _ => corrupt_bytes(&mut lines, rng),
        }
    }
    let mut stream = lines.concat();
    if rng.once_in(8) {
        stream.truncate(rng.next_below(stream.len() + 1));
    }
    stream
}

/// Longest text that counts as a word: names of types, tools, states.
const MAX_WORD_BYTES: usize = 32;

#[derive(Clone, Debug, Default)]
pub struct RecordingVocabulary {
    pub keys: Vec<String>,
    pub words: Vec<String>,
}

impl RecordingVocabulary {
    pub fn from_recordings<'a>(recordings: impl IntoIterator<Item = &'a Recording>) -> Self {
        let (mut keys, mut words) = (BTreeSet::new(), BTreeSet::new());
        for recording in recordings {
            for line in recording.bytes.split(|byte| *byte == b'\n') {
                if let Ok(value) = serde_json::from_slice::<Value>(line) {
                    collect_words(&value, &mut keys, &mut words);
                }
            }
        }
        Self { keys: keys.into_iter().collect(), words: words.into_iter().collect() }
    }

    fn random_record(&self, rng: &mut SeededRng) -> Value {
        self.random_object(rng, 3)
    }

    fn random_object(&self, rng: &mut SeededRng, depth: usize) -> Value {
        let mut fields = Map::new();
        for _ in 0..=rng.next_below(6) {
            let key = rng.choose(&self.keys).cloned().unwrap_or_default();
            fields.insert(key, self.random_value(rng, depth));
        }
        // Most parsers look at a type first.
        if rng.once_in(2) {
            fields.insert("type".to_owned(), self.random_word(rng));
        }
        fields.into()
    }

    fn random_word(&self, rng: &mut SeededRng) -> Value {
        rng.choose(&self.words).cloned().unwrap_or_default().into()
    }

    /// Returns a random value, at most `depth` levels deep.
    fn random_value(&self, rng: &mut SeededRng, depth: usize) -> Value {
        match rng.next_below(if depth == 0 { 7 } else { 10 }) {
            0 => Value::Null,
            1 => rng.once_in(2).into(),
            2 => (rng.next_u64() % 1_000).into(),
            3 => odd_number(rng),
            4 => "".into(),
            5 | 6 => self.random_word(rng),
            7 => (0..rng.next_below(3)).map(|_| self.random_value(rng, depth - 1)).collect(),
            _ => self.random_object(rng, depth - 1),
        }
    }
}

fn odd_number(rng: &mut SeededRng) -> Value {
    let odd = [
        Value::from(-1),
        Value::from(i64::MIN),
        Value::from(u64::MAX),
        Value::from(0.5),
        Value::from(-1e300),
        Value::from(1e300),
    ];
    rng.choose(&odd).cloned().unwrap_or_default()
}

fn collect_words(value: &Value, keys: &mut BTreeSet<String>, words: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.len() <= MAX_WORD_BYTES => {
            words.insert(text.clone());
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect_words(element, keys, words)),
        Value::Object(fields) => {
            for (key, field) in fields {
                if key.len() <= MAX_WORD_BYTES {
                    keys.insert(key.clone());
                }
                collect_words(field, keys, words);
            }
        }
        _ => {}
    }
}

/// Removes lines as long as the rest still fails, large blocks first.
#[must_use]
pub fn shrink_stream(stream: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = stream.split_inclusive(|byte| *byte == b'\n').collect();
    let mut block = lines.len().div_ceil(2);
    while block > 0 {
        let mut at = 0;
        while at < lines.len() {
            let end = lines.len().min(at + block);
            let rest: Vec<&[u8]> = lines.iter().take(at).chain(lines.iter().skip(end)).copied().collect();
            if fails(&rest.concat()) {
                lines = rest;
            } else {
                at = end;
            }
        }
        block /= 2;
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::shrink_stream;

    #[test]
    fn only_what_is_needed_stays() {
        let fails = |stream: &[u8]| stream.contains(&b'x') && stream.contains(&b'y');
        assert_eq!(shrink_stream(b"a\nx\nb\nc\ny\nd\n", fails), b"x\ny\n");
    }
}
