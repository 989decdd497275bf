//! Endless streams made from recordings: they are repeated with fresh ids in one session, and streamed text gets many
//! more pieces, as in real use.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use serde_json::Value;
use switchboard_agents::RecordSource;

use super::recording::Recording;
use crate::recording;

/// Fields whose value identifies the type of a record.
const TYPE_FIELDS: &[&str] =
    &["type", "subtype", "method", "kind", "role", "status", "event", "sessionUpdate", "field"];

/// Returns the fields of a record and their types, with the values of [`TYPE_FIELDS`].
fn record_shape(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Array(elements) => format!("[{}]", elements.iter().map(record_shape).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| match value {
                Value::String(name) if TYPE_FIELDS.contains(&key.as_str()) => format!("{key}={name}"),
                value => format!("{key}:{}", record_shape(value)),
            };
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
        }
    }
}

/// Collects ids: id-like values of fields whose name ends in `id`.
fn collect_ids(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect_ids(element, found)),
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(text) if key.to_lowercase().ends_with("id") && is_id(text) => {
                        found.insert(text.clone());
                    }
                    field => collect_ids(field, found),
                }
            }
        }
        _ => {}
    }
}

fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    text.len() >= 6 && text.chars().all(plain) && text.chars().any(|c| c.is_ascii_digit())
}

pub struct EndlessStream {
    templates: Vec<RecordingTemplate>,
    longest: Vec<u8>,
    round: u64,
}

impl EndlessStream {
    /// Creates a stream from a source's recordings, if there are any.
    #[must_use]
    pub fn new(source: &RecordSource, recordings: &[Recording]) -> Option<Self> {
        let mine: Vec<_> = recordings.iter().filter(|recording| recording.source.name == source.name).collect();
        let lines = mine.iter().flat_map(|recording| recording.bytes.split(|byte| *byte == b'\n'));
        let longest = lines.max_by_key(|line| line.len())?.to_vec();
        let templates: Vec<_> = mine.iter().map(|recording| RecordingTemplate::new(recording)).collect();
        Some(Self { templates, longest, round: 0 })
    }

    /// Writes recordings repeatedly until there are at least `size` bytes, and returns their number. The next call
    /// continues with unused ids.
    pub fn write(&mut self, size: u64, out: &mut impl Write) -> io::Result<u64> {
        let (mut written, mut chunk) = (0, Vec::new());
        while written < size {
            for template in &self.templates {
                chunk.clear();
                template.write(self.round, &mut chunk);
                // Empty recordings must not loop forever.
                written += u64::try_from(chunk.len().max(1)).unwrap_or(1);
                out.write_all(&chunk)?;
                if written >= size {
                    break;
                }
            }
            self.round += 1;
        }
        Ok(written)
    }

    /// Returns one record of at least `size` bytes: a recorded one with a longer text.
    #[must_use]
    pub fn long_line(&self, size: usize) -> Vec<u8> {
        let mut record = serde_json::from_slice::<Value>(&self.longest).unwrap_or_default();
        match longest_text(&mut record) {
            Some(text) => *text = "0123456789abcde ".repeat(size / 16 + 1),
            None => record = Value::String("x".repeat(size)),
        }
        format!("{record}\n").into_bytes()
    }
}

fn longest_text(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(elements) => elements.iter_mut().filter_map(longest_text).max_by_key(|text| text.len()),
        Value::Object(fields) => fields.values_mut().filter_map(longest_text).max_by_key(|text| text.len()),
        _ => None,
    }
}

const STREAM_SESSION_ID: &str = "5e550000-0000-4000-8000-000000000000";

/// Number of pieces of a text that was recorded in more than one.
const PIECES_PER_TEXT: usize = 200;

struct RecordingTemplate {
    lines: Vec<TemplateLine>,
}

struct TemplateLine {
    parts: Vec<TemplatePart>,
    times: usize,
}

/// Fixed bytes, and positions for the number of the repetition.
enum TemplatePart {
    Bytes(Vec<u8>),
    /// In an id that several lines share.
    Round,
    /// In an id that only this line has.
    Piece,
}

impl RecordingTemplate {
    pub fn new(recording: &Recording) -> Self {
        let text = with_stream_session(recording);
        let records: Vec<TemplateRecord> = text.lines().map(TemplateRecord::new).collect();
        let mut uses = BTreeMap::<&str, usize>::new();
        for id in records.iter().flat_map(|record| &record.ids) {
            *uses.entry(id).or_default() += 1;
        }
        let times = repeat_counts(&records, &uses);
        let lines = records.iter().zip(times);
        let lines =
            lines.map(|(record, times)| TemplateLine { parts: split_at_ids(record.line, &record.ids, &uses), times });
        Self { lines: lines.collect() }
    }

    pub fn write(&self, round: u64, out: &mut Vec<u8>) {
        for line in &self.lines {
            for piece in 0..line.times {
                for part in &line.parts {
                    match part {
                        TemplatePart::Bytes(bytes) => out.extend_from_slice(bytes),
                        TemplatePart::Round => out.extend_from_slice(format!(".{round}").as_bytes()),
                        TemplatePart::Piece => out.extend_from_slice(format!(".{round}.{piece}").as_bytes()),
                    }
                }
                out.push(b'\n');
            }
        }
    }
}

/// Returns the repetitions of each line: one, or enough to make a text of many pieces.
fn repeat_counts(records: &[TemplateRecord<'_>], uses: &BTreeMap<&str, usize>) -> Vec<usize> {
    let runs = records.chunk_by(|before, record| record.is_piece_after(before, uses));
    let times = runs.flat_map(|run| match run.len() {
        1 => vec![1],
        length => vec![PIECES_PER_TEXT.div_ceil(length); length],
    });
    times.collect()
}

struct TemplateRecord<'a> {
    line: &'a str,
    shape: String,
    ids: BTreeSet<String>,
}

impl<'a> TemplateRecord<'a> {
    fn new(line: &'a str) -> Self {
        let record = serde_json::from_str::<Value>(line).unwrap_or_default();
        let mut found = BTreeSet::new();
        collect_ids(&record, &mut found);
        found.remove(STREAM_SESSION_ID);
        Self { line, shape: record_shape(&record), ids: found }
    }

    /// Returns whether the line has the shape and the shared ids of the line before it.
    fn is_piece_after(&self, before: &Self, uses: &BTreeMap<&str, usize>) -> bool {
        let shared = |record: &Self| -> Vec<String> {
            record.ids.iter().filter(|id| uses.get(id.as_str()) > Some(&1)).cloned().collect()
        };
        self.shape != "null" && self.shape == before.shape && shared(self) == shared(before)
    }
}

/// Replaces the session id, so that many recordings make one session.
fn with_stream_session(recording: &Recording) -> String {
    let text = String::from_utf8_lossy(&recording.bytes).into_owned();
    let events = recording::stream_events(recording.source, &recording.bytes);
    match events.first().map(|event| event.session.as_str()) {
        Some(session) if session != recording::MADE_UP_SESSION_ID => text.replace(session, STREAM_SESSION_ID),
        _ => text,
    }
}

/// Splits a line after each of its ids.
fn split_at_ids(line: &str, ids: &BTreeSet<String>, uses: &BTreeMap<&str, usize>) -> Vec<TemplatePart> {
    let (mut parts, mut bytes) = (Vec::new(), Vec::new());
    for token in line.split_inclusive('"') {
        let (text, quote) = token.strip_suffix('"').map_or((token, ""), |text| (text, "\""));
        bytes.extend_from_slice(text.as_bytes());
        if ids.contains(text) {
            parts.push(TemplatePart::Bytes(std::mem::take(&mut bytes)));
            parts.push(if uses.get(text) > Some(&1) { TemplatePart::Round } else { TemplatePart::Piece });
        }
        bytes.extend_from_slice(quote.as_bytes());
    }
    parts.push(TemplatePart::Bytes(bytes));
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::{collect_ids, record_shape};

    #[test]
    fn pieces_of_text_have_one_shape() {
        let (a, b) = (json!({"type": "piece", "text": "a"}), json!({"type": "piece", "text": "bc"}));
        assert_eq!(record_shape(&a), record_shape(&b));
        assert_ne!(record_shape(&a), record_shape(&json!({"type": "whole", "text": "abc"})));
    }

    #[test]
    fn ids_are_known_by_their_field() {
        let mut found = BTreeSet::new();
        collect_ids(
            &json!({"tool_id": "tool_0001", "text": "tool_0002", "id": "one two 3", "x": [{"ID": "abc-123"}]}),
            &mut found,
        );
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["abc-123", "tool_0001"]);
    }
}
