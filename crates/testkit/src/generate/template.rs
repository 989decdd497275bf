//! A recording that can be written many times in one session, with other ids each time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::shape::{collect_ids, record_shape};
use crate::{play, recording::Recording};

const STREAM_SESSION_ID: &str = "5e550000-0000-4000-8000-000000000000";

/// Number of pieces of a text that was recorded in more than one.
const PIECES_PER_TEXT: usize = 200;

pub struct RecordingTemplate {
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
    let events = play::stream_events(recording.source, &recording.bytes);
    match events.first().map(|event| event.session.as_str()) {
        Some(session) if session != play::MADE_UP_SESSION_ID => text.replace(session, STREAM_SESSION_ID),
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
