//! One native record: a line of a stream, or the message in a line of a transcript.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::value::RawValue;
use switchboard_event::{Dir, Native, NativeBody, Timestamp};

use crate::{Json, split_joined_records};

static DIR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"dir\""));
static MSG: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"msg\""));

/// A native record and what is known about how it came.
pub struct Record<'a> {
    /// Which way it went.
    pub dir: Dir,
    /// When it went, if that was written down.
    pub at: Option<Timestamp>,
    /// What it is.
    pub body: RecordBody<'a>,
}

/// What a record is.
pub enum RecordBody<'a> {
    /// JSON of any kind.
    Json(&'a RawValue),
    /// Text that is not JSON.
    Text(&'a str),
    /// Bytes that are not UTF-8.
    Bytes(&'a [u8]),
}

impl<'a> Record<'a> {
    /// Reads the records of a line of a living agent. Most lines are one.
    pub fn for_each_live(line: &'a [u8], at: Timestamp, mut each: impl FnMut(&Self)) {
        Self::for_each(line, |piece| Self::live(piece, at), &mut each);
    }

    /// Reads the records of a line. Most lines are one; see [`split_joined_records`].
    pub fn for_each_in_line(line: &'a [u8], mut each: impl FnMut(&Self)) {
        Self::for_each(line, Self::from_line, &mut each);
    }

    fn for_each(line: &'a [u8], read: impl Fn(&'a [u8]) -> Option<Self>, each: &mut impl FnMut(&Self)) {
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

    /// Reads a line of a living agent: whatever it looks like, it is no transcript.
    #[must_use]
    pub fn live(line: &'a [u8], at: Timestamp) -> Option<Self> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let body = match std::str::from_utf8(line) {
            Err(_) => RecordBody::Bytes(line),
            Ok(text) => serde_json::from_str(text).map_or(RecordBody::Text(text), RecordBody::Json),
        };
        Some(Self { dir: Dir::In, at: Some(at), body })
    }

    /// A record that goes to the agent.
    #[must_use]
    pub fn sent(raw: &'a RawValue, at: Timestamp) -> Self {
        Self { dir: Dir::Out, at: Some(at), body: RecordBody::Json(raw) }
    }

    /// Reads a line; of a transcript line `{"dir":"in"|"out","t":seconds,"msg":…}`, the message. Blank lines are
    /// no records.
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
        // Looking for the two words is much cheaper than looking at the fields of every record.
        if DIR.find(raw.get().as_bytes()).is_none() || MSG.find(raw.get().as_bytes()).is_none() {
            return None;
        }
        let fields = Json::of(raw).object();
        let dir = match fields.str("dir")?.as_ref() {
            "in" => Dir::In,
            "out" => Dir::Out,
            _ => return None,
        };
        let (_, msg) = fields.iter().find(|(key, _)| *key == "msg")?;
        let body = RecordBody::Json(serde_json::from_str(msg.text()).ok()?);
        Some(Self { dir, at: fields.f64("t").and_then(Timestamp::from_seconds), body })
    }

    /// The record as an event keeps it.
    #[must_use]
    pub fn to_native(&self) -> Native {
        let body = match self.body {
            RecordBody::Json(raw) => NativeBody::Json(raw.to_owned()),
            RecordBody::Text(text) => NativeBody::Text(text.to_owned()),
            RecordBody::Bytes(bytes) => NativeBody::Bytes(bytes.to_vec()),
        };
        Native { dir: self.dir, body }
    }
}
