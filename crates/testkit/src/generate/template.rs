//! A recording that can be written many times: in one session, with other ids each time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::shape::{ids, shape};
use crate::{play, recording::Recording};

/// The session that all of a stream belongs to.
const SESSION: &str = "5e550000-0000-4000-8000-000000000000";

/// How many pieces a text comes in, if it was recorded in more than one.
const PIECES: usize = 200;

/// The lines of a recording.
pub struct Template {
    lines: Vec<Line>,
}

struct Line {
    parts: Vec<Part>,
    times: usize,
}

/// Bytes that stay, and places where the number of the repetition goes.
enum Part {
    Bytes(Vec<u8>),
    /// Of an id that several lines share.
    Round,
    /// Of an id that only this line has.
    Piece,
}

impl Template {
    /// Prepares a recording.
    pub fn new(recording: &Recording) -> Self {
        let text = in_one_session(recording);
        let records: Vec<Known> = text.lines().map(Known::new).collect();
        let mut uses = BTreeMap::<&str, usize>::new();
        for id in records.iter().flat_map(|record| &record.ids) {
            *uses.entry(id).or_default() += 1;
        }
        let times = times(&records, &uses);
        let lines = records.iter().zip(times);
        let lines = lines.map(|(record, times)| Line { parts: parts(record.line, &record.ids, &uses), times });
        Self { lines: lines.collect() }
    }

    /// Writes the recording for the given time.
    pub fn write(&self, round: u64, out: &mut Vec<u8>) {
        for line in &self.lines {
            for piece in 0..line.times {
                for part in &line.parts {
                    match part {
                        Part::Bytes(bytes) => out.extend_from_slice(bytes),
                        Part::Round => out.extend_from_slice(format!(".{round}").as_bytes()),
                        Part::Piece => out.extend_from_slice(format!(".{round}.{piece}").as_bytes()),
                    }
                }
                out.push(b'\n');
            }
        }
    }
}

/// How often each line is written: once, or so often that the pieces of one text become many.
fn times(records: &[Known<'_>], uses: &BTreeMap<&str, usize>) -> Vec<usize> {
    let runs = records.chunk_by(|before, record| record.is_piece_after(before, uses));
    let times = runs.flat_map(|run| match run.len() {
        1 => vec![1],
        length => vec![PIECES.div_ceil(length); length],
    });
    times.collect()
}

/// A line and what is known about it.
struct Known<'a> {
    line: &'a str,
    shape: String,
    ids: BTreeSet<String>,
}

impl<'a> Known<'a> {
    fn new(line: &'a str) -> Self {
        let record = serde_json::from_str::<Value>(line).unwrap_or_default();
        let mut found = BTreeSet::new();
        ids(&record, &mut found);
        found.remove(SESSION);
        Self { line, shape: shape(&record), ids: found }
    }

    /// It looks like the line before it and belongs to the same things.
    fn is_piece_after(&self, before: &Self, uses: &BTreeMap<&str, usize>) -> bool {
        let shared = |record: &Self| -> Vec<String> {
            record.ids.iter().filter(|id| uses.get(id.as_str()) > Some(&1)).cloned().collect()
        };
        self.shape != "null" && self.shape == before.shape && shared(self) == shared(before)
    }
}

/// The recording with another id of its session, so that many recordings make one session.
fn in_one_session(recording: &Recording) -> String {
    let text = String::from_utf8_lossy(&recording.bytes).into_owned();
    let events = play::events(recording.source, &recording.bytes);
    match events.first().map(|event| event.session.as_str()) {
        Some(session) if session != play::MADE_UP => text.replace(session, SESSION),
        _ => text,
    }
}

/// Cuts a line at the ends of its ids.
fn parts(line: &str, ids: &BTreeSet<String>, uses: &BTreeMap<&str, usize>) -> Vec<Part> {
    let (mut parts, mut bytes) = (Vec::new(), Vec::new());
    for token in line.split_inclusive('"') {
        let (text, quote) = token.strip_suffix('"').map_or((token, ""), |text| (text, "\""));
        bytes.extend_from_slice(text.as_bytes());
        if ids.contains(text) {
            parts.push(Part::Bytes(std::mem::take(&mut bytes)));
            parts.push(if uses.get(text) > Some(&1) { Part::Round } else { Part::Piece });
        }
        bytes.extend_from_slice(quote.as_bytes());
    }
    parts.push(Part::Bytes(bytes));
    parts
}
