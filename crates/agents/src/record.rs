//! One native record: a line of a stream, or the message in a line of a transcript.

use switchboard_event::{Dir, Native, NativeBody, Timestamp};

use crate::Json;

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
    Json(Json<'a>),
    /// Text that is not JSON.
    Text(&'a str),
    /// Bytes that are not UTF-8.
    Bytes(&'a [u8]),
}

impl<'a> Record<'a> {
    /// Reads a line; of a transcript line `{"dir":"in"|"out","t":seconds,"msg":…}`, the message. Blank lines are
    /// no records.
    #[must_use]
    pub fn from_line(line: &'a [u8]) -> Option<Self> {
        let Ok(text) = std::str::from_utf8(line) else {
            return Some(Self { dir: Dir::In, at: None, body: RecordBody::Bytes(line) });
        };
        if text.trim().is_empty() {
            return None;
        }
        let Some(json) = Json::parse(text) else {
            return Some(Self { dir: Dir::In, at: None, body: RecordBody::Text(text) });
        };
        Some(Self::from_transcript(json).unwrap_or(Self { dir: Dir::In, at: None, body: RecordBody::Json(json) }))
    }

    fn from_transcript(json: Json<'a>) -> Option<Self> {
        // Looking for the two words is much cheaper than looking at the fields of every record.
        let text = json.text().as_bytes();
        if memchr::memmem::find(text, b"\"dir\"").is_none() || memchr::memmem::find(text, b"\"msg\"").is_none() {
            return None;
        }
        let fields = json.object();
        let dir = match fields.str("dir")?.as_ref() {
            "in" => Dir::In,
            "out" => Dir::Out,
            _ => return None,
        };
        let msg = fields.iter().find(|(key, _)| *key == "msg")?.1;
        Some(Self { dir, at: fields.f64("t").and_then(Timestamp::from_seconds), body: RecordBody::Json(msg) })
    }

    /// The record as an event keeps it.
    #[must_use]
    pub fn to_native(&self) -> Native {
        let body = match self.body {
            RecordBody::Json(json) => NativeBody::Json(json.to_raw()),
            RecordBody::Text(text) => NativeBody::Text(text.to_owned()),
            RecordBody::Bytes(bytes) => NativeBody::Bytes(bytes.to_vec()),
        };
        Native { dir: self.dir, body }
    }
}
