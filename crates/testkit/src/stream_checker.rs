//! All checks on one stream, against its native records and the answer of the agent. Both are computed in a simple way,
//! independently of the code that is checked.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::value::RawValue;
use switchboard_agents::{RecordSource, split_joined_records};
use switchboard_event::{Delta, Details, Dir, Event, EventBody, Field, Id, Item, NativeBody, NativeRecord, Status};

use crate::ledger::{IdReuse, InvariantViolation, SessionInvariants, must};
use crate::random::SeededRng;
use crate::recording::{events_from_pieces, stored_json, stream_events};
use crate::wire::{DialectChecker, dialect_checkers, reread_events};

/// Checks streams against the invariants.
pub struct StreamChecker {
    pub wires: Vec<DialectChecker>,
}

impl StreamChecker {
    /// Creates a checker for all dialects.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self { wires: dialect_checkers()? })
    }

    /// Checks everything that must hold for any bytes: no panic, events that satisfy the invariants, and in every
    /// dialect messages that satisfy its rules.
    pub fn check_stream(&self, source: &RecordSource, bytes: &[u8], reuse: IdReuse) -> Result<(), InvariantViolation> {
        catch_panic(|| {
            let events = stream_events(source, bytes);
            check_events(&events, bytes, reuse)?;
            let answer = answer_text(&events);
            self.wires.iter().try_for_each(|wire| wire.check_messages(&events, &answer))
        })
    }

    /// Checks that transport does not matter: the stream may arrive in any pieces, events may be stored and read again,
    /// a projection may be copied at any point.
    pub fn check_replay(
        &self,
        source: &RecordSource,
        bytes: &[u8],
        rng: &mut SeededRng,
    ) -> Result<(), InvariantViolation> {
        catch_panic(|| {
            check_pieces(source, bytes, rng)?;
            let events = stream_events(source, bytes);
            let (again, cut) = (reread_events(&events)?, rng.next_below(events.len() + 1));
            self.wires.iter().try_for_each(|wire| wire.check_replay(&events, &again, &[cut]))
        })
    }

    /// Checks the minimum for any bytes: no panic, and events that satisfy the invariants.
    pub fn check_survival(&self, source: &RecordSource, bytes: &[u8]) -> Result<(), InvariantViolation> {
        catch_panic(|| {
            let events = stream_events(source, bytes);
            self.wires.iter().for_each(|wire| drop(wire.project_events(&events)));
            check_events(&events, bytes, IdReuse::AfterEnd)
        })
    }
}

/// Checks the invariants of events against the stream they were made from.
pub fn check_events(events: &[Event], bytes: &[u8], reuse: IdReuse) -> Result<(), InvariantViolation> {
    let mut ledger = SessionInvariants::new(reuse);
    expected_records(bytes).into_iter().for_each(|said| ledger.expect_record(said));
    events.iter().try_for_each(|event| ledger.check_event(event))?;
    ledger.finish()
}

/// Checks that the same bytes in random pieces give the same events.
fn check_pieces(source: &RecordSource, bytes: &[u8], rng: &mut SeededRng) -> Result<(), InvariantViolation> {
    let whole = stored_json(&stream_events(source, bytes));
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    // Sometimes small pieces, sometimes large ones.
    let largest = 1 << rng.next_below(12);
    while !rest.is_empty() {
        let (piece, left) = rest.split_at((1 + rng.next_below(largest)).min(rest.len()));
        pieces.push(piece);
        rest = left;
    }
    let got = stored_json(&events_from_pieces(source, pieces));
    let at = whole.iter().zip(&got).position(|(a, b)| a != b);
    must!(got == whole, "any split gives the same events", "pieces up to {largest} bytes: event {at:?} differs");
    Ok(())
}

/// Turns a panic into a violation, so that the stream that caused it is reported.
fn catch_panic(check: impl FnOnce() -> Result<(), InvariantViolation>) -> Result<(), InvariantViolation> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(InvariantViolation { rule: "no panic", why: text.unwrap_or_default() })
    })
}

/// A native record as an event must carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedRecord {
    /// The direction.
    pub dir: Dir,
    pub form: RecordForm,
    /// The exact bytes.
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordForm {
    Json,
    /// UTF-8 that is not JSON.
    Text,
    /// Not UTF-8.
    Bytes,
}

impl From<&NativeRecord> for ExpectedRecord {
    fn from(native: &NativeRecord) -> Self {
        let (form, bytes) = match &native.body {
            NativeBody::Json(raw) => (RecordForm::Json, raw.get().as_bytes()),
            NativeBody::Text(text) => (RecordForm::Text, text.as_bytes()),
            NativeBody::Bytes(bytes) => (RecordForm::Bytes, bytes.as_slice()),
        };
        Self { dir: native.dir, form, bytes: bytes.to_vec() }
    }
}

/// Returns all records of a stream.
#[must_use]
pub fn expected_records(stream: &[u8]) -> Vec<ExpectedRecord> {
    stream.split(|byte| *byte == b'\n').flat_map(line_records).collect()
}

/// Returns the records of a line. A torn line may be joined with the one appended to it.
fn line_records(text: &[u8]) -> Vec<ExpectedRecord> {
    let Some(said) = parse_line(text) else { return Vec::new() };
    let pieces = if said.form == RecordForm::Json { Vec::new() } else { split_joined_records(text) };
    if pieces.is_empty() { vec![said] } else { pieces.into_iter().filter_map(parse_line).collect() }
}

fn parse_line(line: &[u8]) -> Option<ExpectedRecord> {
    let Ok(text) = str::from_utf8(line) else {
        return Some(ExpectedRecord { dir: Dir::In, form: RecordForm::Bytes, bytes: line.to_vec() });
    };
    if text.trim().is_empty() {
        return None;
    }
    if serde_json::from_str::<&RawValue>(text).is_err() {
        return Some(ExpectedRecord { dir: Dir::In, form: RecordForm::Text, bytes: line.to_vec() });
    }
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let (dir, text) = parse_transcript(text).unwrap_or((Dir::In, text));
    Some(ExpectedRecord { dir, form: RecordForm::Json, bytes: text.as_bytes().to_vec() })
}

/// `{"dir":"in"|"out","msg":…}`
fn parse_transcript(text: &str) -> Option<(Dir, &str)> {
    let fields = switchboard_agents::JsonView::parse(text)?.as_object();
    let dir = match fields.get_str("dir")?.as_ref() {
        "in" => Dir::In,
        "out" => Dir::Out,
        _ => return None,
    };
    let (_, message) = fields.iter().find(|(key, _)| *key == "msg")?;
    Some((dir, message.raw_text()))
}

/// The text on the main thread, if it is well defined.
#[derive(Debug, PartialEq, Eq)]
pub enum AnswerText {
    Text(String),
    /// Not determined by the completed items alone, with the reason.
    Unclear(&'static str),
}

#[derive(Default)]
struct GrowingMessage {
    text: String,
    odd: bool,
}

/// Returns the text of all completed messages of the main thread, in order, without superseded ones. It is unclear if
/// messages were truncated, written concurrently, or ended differently than they grew, or if a turn has its own result.
#[must_use]
pub fn answer_text(events: &[Event]) -> AnswerText {
    let (mut open, mut text) = (HashMap::<&Id, GrowingMessage>::new(), String::new());
    for event in events.iter().filter(|event| event.thread.is_none()) {
        if matches!(&event.body, EventBody::TurnCompleted(turn) if turn.result.is_some()) {
            return AnswerText::Unclear("a turn answers beside its messages");
        }
        let Some(id) = &event.item else { continue };
        match &event.body {
            EventBody::ItemStarted(item) => {
                if let Some(said) = message_text(item) {
                    if !open.is_empty() {
                        return AnswerText::Unclear("two messages are written at the same time");
                    }
                    open.insert(id, GrowingMessage { text: said.to_owned(), odd: false });
                }
            }
            EventBody::ItemDelta(delta) => {
                if let Some(growing) = open.get_mut(id) {
                    growing.apply_delta(delta);
                }
            }
            EventBody::ItemCompleted(item) => match (open.remove(id), message_text(item)) {
                // What was taken back is not part of the answer.
                (Some(_), Some(_)) if item.status == Status::Superseded => {}
                (Some(growing), Some(said)) => {
                    if let Some(why) = growing.unclear_reason(item, said) {
                        return AnswerText::Unclear(why);
                    }
                    text.push_str(said);
                }
                (None, None) => {}
                _ => return AnswerText::Unclear("an item became a message or ceased to be one"),
            },
            _ => {}
        }
    }
    AnswerText::Text(text)
}

impl GrowingMessage {
    fn apply_delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Append { field: Field::Text, text, .. } => self.text.push_str(text),
            Delta::Append { .. } => self.odd = true,
            Delta::Set { patch } => self.odd |= message_text(patch).is_none_or(|said| !said.is_empty()),
            Delta::Progress { .. } => {}
        }
    }

    fn unclear_reason(&self, item: &Item, said: &str) -> Option<&'static str> {
        let cut = matches!(&item.details, Details::AgentMessage(message) if message.truncated);
        match () {
            () if cut => Some("a message is longer than what is kept"),
            () if self.odd => Some("a message was set"),
            () if !said.starts_with(&self.text) => Some("a message ended as something else than it grew to"),
            () => None,
        }
    }
}

fn message_text(item: &Item) -> Option<&str> {
    match &item.details {
        Details::AgentMessage(message) => Some(&message.text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::Dir;

    use super::{RecordForm, expected_records};

    #[test]
    fn one_record_a_line() {
        let stream = b"{\"a\": 1 }\r\n\n  \nnot json\n\xff\n{\"dir\":\"out\",\"t\":1,\"msg\":[ 1]}\n{\"torn\":";
        let said = expected_records(stream);
        let shown: Vec<_> = said.iter().map(|s| (s.dir, s.form, s.bytes.as_slice())).collect();
        assert_eq!(
            shown,
            [
                (Dir::In, RecordForm::Json, &b"{\"a\": 1 }"[..]),
                (Dir::In, RecordForm::Text, b"not json"),
                (Dir::In, RecordForm::Bytes, b"\xff"),
                (Dir::Out, RecordForm::Json, b"[ 1]"),
                (Dir::In, RecordForm::Text, b"{\"torn\":"),
            ]
        );
    }
}
