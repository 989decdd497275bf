//! One native record: a line of a stream, or the message in a line of a transcript.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::value::RawValue;
use switchboard_event::{Dir, NativeBody, NativeRecord, Timestamp};

use crate::{JsonView, split_joined_records};

static DIR_KEY_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"dir\""));

static MSG_KEY_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"msg\""));

/// A native record with its direction and time.
pub struct Record<'a> {
    pub dir: Dir,
    /// The time, if it was recorded.
    pub at: Option<Timestamp>,
    pub body: RecordBody<'a>,
}

/// The content of a record.
pub enum RecordBody<'a> {
    /// JSON of any kind.
    Json(&'a RawValue),
    /// Text that is not JSON.
    Text(&'a str),
    /// Bytes that are not UTF-8.
    Bytes(&'a [u8]),
}

impl<'a> Record<'a> {
    /// Reads the records of a line of a running agent. Most lines are one.
    pub fn for_each_in_live_line(line: &'a [u8], at: Timestamp, mut each: impl FnMut(&Self)) {
        Self::for_each_record(line, |piece| Self::from_live_line(piece, at), &mut each);
    }

    /// Reads the records of a line. Most lines are one; see [`split_joined_records`].
    pub fn for_each_in_line(line: &'a [u8], mut each: impl FnMut(&Self)) {
        Self::for_each_record(line, Self::from_line, &mut each);
    }

    fn for_each_record(line: &'a [u8], read: impl Fn(&'a [u8]) -> Option<Self>, each: &mut impl FnMut(&Self)) {
        let Some(record) = read(line) else { return };
        let pieces = match record.body {
            RecordBody::Json(_) => Vec::new(),
            RecordBody::Text(_) | RecordBody::Bytes(_) => split_joined_records(line),
        };
        if pieces.is_empty() {
            return each(&record);
        }
        pieces.into_iter().filter_map(read).for_each(|record| each(&record));
    }

    /// Reads a line of a running agent, which is never taken for a transcript.
    #[must_use]
    fn from_live_line(line: &'a [u8], at: Timestamp) -> Option<Self> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let body = match std::str::from_utf8(line) {
            Err(_) => RecordBody::Bytes(line),
            Ok(text) => serde_json::from_str(text).map_or(RecordBody::Text(text), RecordBody::Json),
        };
        Some(Self { dir: Dir::In, at: Some(at), body })
    }

    /// A record that is sent to the agent.
    #[must_use]
    pub fn from_outgoing(raw: &'a RawValue, at: Timestamp) -> Self {
        Self { dir: Dir::Out, at: Some(at), body: RecordBody::Json(raw) }
    }

    /// Reads a line; of a transcript line `{"dir":"in"|"out","t":seconds,"msg":…}`, the message. Blank lines are not
    /// records.
    #[must_use]
    pub fn from_line(line: &'a [u8]) -> Option<Self> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let Ok(text) = std::str::from_utf8(line) else {
            return Some(Self { dir: Dir::In, at: None, body: RecordBody::Bytes(line) });
        };
        let Ok(raw) = serde_json::from_str(text) else {
            return Some(Self { dir: Dir::In, at: None, body: RecordBody::Text(text) });
        };
        Some(Self::from_transcript(raw).unwrap_or(Self { dir: Dir::In, at: None, body: RecordBody::Json(raw) }))
    }

    fn from_transcript(raw: &'a RawValue) -> Option<Self> {
        // Searching for the two words is much cheaper than inspecting the fields of every record.
        if DIR_KEY_FINDER.find(raw.get().as_bytes()).is_none() || MSG_KEY_FINDER.find(raw.get().as_bytes()).is_none() {
            return None;
        }
        let fields = JsonView::from_raw(raw).as_object();
        let dir = match fields.get_str("dir")?.as_ref() {
            "in" => Dir::In,
            "out" => Dir::Out,
            _ => return None,
        };
        let (_, msg) = fields.iter().find(|(key, _)| *key == "msg")?;
        let body = RecordBody::Json(serde_json::from_str(msg.raw_text()).ok()?);
        Some(Self { dir, at: fields.get_f64("t").and_then(Timestamp::from_seconds), body })
    }

    /// Converts the record to the form stored in events.
    #[must_use]
    pub fn to_native(&self) -> NativeRecord {
        let body = match self.body {
            RecordBody::Json(raw) => NativeBody::Json(raw.to_owned()),
            RecordBody::Text(text) => NativeBody::Text(text.to_owned()),
            RecordBody::Bytes(bytes) => NativeBody::Bytes(bytes.to_vec()),
        };
        NativeRecord { dir: self.dir, body }
    }
}
