//! The message format of the log. A frame has consecutive events of one session and the session's summary after them.
//!
//! The headers carry what a writer compares, and a SHA-256 over headers and payload that also covers the hash of the
//! session's previous frame: a frame that is lost or changed is noticed. The payload is the length of the compressed
//! summary as four bytes (little-endian), the summary, and the compressed events. Events that are too large for a
//! message are an object, whose hash is in the headers.

use std::fmt;

use async_nats::HeaderMap;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use switchboard_event::{Id, Kind};
use switchboard_store::{EventChunk, StoreError};

use crate::record::{FrameRecord, FrameRun};

/// The format of the frames that this version writes.
pub const FRAME_VERSION: u32 = 1;

/// The maximum size of the compressed events in a message.
pub const MAX_FRAME_BYTES: usize = 256 << 10;

/// The compression level: frames are written while an agent waits.
const COMPRESSION_LEVEL: i32 = 1;

const VERSION_HEADER: &str = "Switchboard-Version";
const FIRST_HEADER: &str = "Switchboard-First";
const LAST_HEADER: &str = "Switchboard-Last";
const EPOCH_HEADER: &str = "Switchboard-Epoch";
const OWNER_HEADER: &str = "Switchboard-Owner";
const NODE_HEADER: &str = "Switchboard-Node";
const OBJECT_HEADER: &str = "Switchboard-Object";
const PREVIOUS_HEADER: &str = "Switchboard-Previous";
const HASH_HEADER: &str = "Switchboard-Hash";

/// The compressed part of a frame besides its events.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrameSummary {
    pub record: FrameRecord,
    /// The runs that the frame adds or changes.
    #[serde(default)]
    pub runs: Vec<FrameRun>,
    /// The kinds of the events, in order, each with the number of consecutive events.
    #[serde(default)]
    pub kinds: Vec<(String, u32)>,
    /// Random, so that two frames never have the same hash.
    #[serde(default)]
    pub nonce: String,
}

/// A frame to write.
#[derive(Clone, Debug)]
pub struct FrameDraft {
    pub summary: FrameSummary,
    pub first: u64,
    /// The compressed events in a message or in an object.
    pub events: FrameEvents,
}

/// The compressed events of a frame.
#[derive(Clone, Debug)]
pub enum FrameEvents {
    Inline(Bytes),
    /// The name of an object.
    Object(String),
}

/// A frame as read, verified against its hash. The events are still compressed.
#[derive(Clone, Debug)]
pub struct Frame {
    pub first: u64,
    pub summary: FrameSummary,
    pub previous: String,
    pub hash: String,
    pub events: FrameEvents,
}

/// The reason why a message is not a frame of this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// It is damaged. The range of its events, if known.
    Damaged(Option<(u64, u64)>),
    /// A later version wrote it.
    Newer(u32),
}

impl FrameError {
    pub fn into_store_error(self, session: &str) -> StoreError {
        match self {
            Self::Damaged(range) => {
                StoreError::Damaged { session: session.into(), seq: range.map_or(0, |(first, _)| first) }
            }
            Self::Newer(found) => StoreError::Newer { found: found.into(), known: FRAME_VERSION.into() },
        }
    }
}

impl FrameDraft {
    /// Encodes the frame as the one after a frame with the hash `previous`. Returns the headers, the payload and the
    /// hash.
    pub fn encode(&self, previous: &str) -> Result<(HeaderMap, Bytes, String), StoreError> {
        let record = &self.summary.record;
        let unreadable = |error| StoreError::Unreadable { session: record.id.clone(), what: "a frame", error };
        let summary = FrameSummary { record: record.to_stored(), ..self.summary.clone() };
        let summary = serde_json::to_vec(&summary).map_err(unreadable)?;
        let summary = compress(&record.id, &summary)?;
        let (events, object) = match &self.events {
            FrameEvents::Inline(events) => (&events[..], ""),
            FrameEvents::Object(name) => (&[][..], name.as_str()),
        };
        let length = u32::try_from(summary.len()).unwrap_or(u32::MAX);
        let payload = [&length.to_le_bytes()[..], &summary, events].concat();
        let fields = [
            (VERSION_HEADER, FRAME_VERSION.to_string()),
            (FIRST_HEADER, self.first.to_string()),
            (LAST_HEADER, record.head.to_string()),
            (EPOCH_HEADER, record.epoch.to_string()),
            (OWNER_HEADER, record.owner.incarnation.clone()),
            (NODE_HEADER, record.owner.name.clone()),
            (OBJECT_HEADER, object.to_owned()),
            (PREVIOUS_HEADER, previous.to_owned()),
        ];
        let hash = hash_frame(fields.iter().map(|(_, value)| value.as_str()), &payload);
        let mut headers = HeaderMap::new();
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            headers.insert(name, value);
        }
        headers.insert(HASH_HEADER, hash.as_str());
        Ok((headers, payload.into(), hash))
    }

    /// Returns the frame as it is read once it is committed.
    pub fn to_frame(&self, previous: &str, hash: &str) -> Frame {
        Frame {
            first: self.first,
            summary: self.summary.clone(),
            previous: previous.to_owned(),
            hash: hash.to_owned(),
            events: self.events.clone(),
        }
    }
}

impl Frame {
    /// Decodes and verifies a message.
    pub fn decode(headers: &HeaderMap, payload: &Bytes) -> Result<Self, FrameError> {
        let text = |name: &str| headers.get(name).map(|value| value.as_str()).unwrap_or_default();
        let number = |name: &str| text(name).parse::<u64>().ok();
        let range = number(FIRST_HEADER).zip(number(LAST_HEADER));
        let damaged = || FrameError::Damaged(range);
        let version = text(VERSION_HEADER).parse::<u32>().map_err(|_| damaged())?;
        if version > FRAME_VERSION {
            return Err(FrameError::Newer(version));
        }
        let fields = [
            VERSION_HEADER,
            FIRST_HEADER,
            LAST_HEADER,
            EPOCH_HEADER,
            OWNER_HEADER,
            NODE_HEADER,
            OBJECT_HEADER,
            PREVIOUS_HEADER,
        ];
        if hash_frame(fields.into_iter().map(text), payload) != text(HASH_HEADER) {
            return Err(damaged());
        }
        let length = payload.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes)).ok_or_else(damaged)?;
        let end = 4 + usize::try_from(length).map_err(|_| damaged())?;
        let summary = payload.get(4..end).ok_or_else(damaged)?;
        let summary = zstd::decode_all(summary).map_err(|_| damaged())?;
        let summary: FrameSummary = serde_json::from_slice(&summary).map_err(|_| damaged())?;
        let events = match text(OBJECT_HEADER) {
            "" => FrameEvents::Inline(payload.slice(end..)),
            name => FrameEvents::Object(name.to_owned()),
        };
        Ok(Self {
            first: number(FIRST_HEADER).ok_or_else(damaged)?,
            summary,
            previous: text(PREVIOUS_HEADER).to_owned(),
            hash: text(HASH_HEADER).to_owned(),
            events,
        })
    }

    pub fn record(&self) -> &FrameRecord {
        &self.summary.record
    }

    /// Returns the size of the compressed events.
    pub fn event_bytes(&self) -> usize {
        match &self.events {
            FrameEvents::Inline(events) => events.len(),
            FrameEvents::Object(name) => object_bytes(name),
        }
    }

    pub fn has_events(&self) -> bool {
        self.first <= self.record().head
    }

    /// Returns the kinds of the events as bits.
    pub fn kind_bits(&self) -> u64 {
        self.summary.kinds.iter().fold(0, |bits, (name, _)| bits | kind_bit(name))
    }
}

/// Returns a bit for the name of a kind. Several names may share one.
pub fn kind_bit(name: &str) -> u64 {
    let hash = name.bytes().fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    1 << (hash % 63)
}

/// Returns the name of a kind on the wire.
pub fn kind_name(kind: Kind) -> String {
    struct KindName(Kind);
    impl fmt::Display for KindName {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.serialize(f)
        }
    }
    KindName(kind).to_string()
}

/// Collects the events of a frame.
#[derive(Default)]
pub struct FrameBuilder {
    /// The events, each after its length as four bytes.
    events: Vec<u8>,
    kinds: Vec<(String, u32)>,
    last_kind: Option<Kind>,
}

impl FrameBuilder {
    pub fn push(&mut self, chunk: &EventChunk) {
        self.events.reserve(chunk.json_len() + 4 * chunk.events().len());
        for (event, json) in chunk.iter_from(0) {
            let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
            self.events.extend_from_slice(&length.to_le_bytes());
            self.events.extend_from_slice(&json);
            let kind = event.body.kind();
            match self.kinds.last_mut() {
                Some((_, count)) if self.last_kind == Some(kind) => *count += 1,
                _ => self.kinds.push((kind_name(kind), 1)),
            }
            self.last_kind = Some(kind);
        }
    }

    /// Returns the compressed events and the kinds.
    pub fn finish(self, session: &Id) -> Result<(Bytes, Vec<(String, u32)>), StoreError> {
        let events = if self.events.is_empty() { Vec::new() } else { compress(session, &self.events)? };
        Ok((events.into(), self.kinds))
    }
}

/// The events of a frame as read.
#[derive(Debug)]
pub struct DecodedEvents {
    first: u64,
    data: Bytes,
    /// The end of each event in the data, and its kind as an index.
    events: Vec<(usize, usize)>,
    kinds: Vec<String>,
}

impl DecodedEvents {
    /// Decompresses events. Returns `None` if they do not match the summary.
    pub fn decode(frame: &Frame, compressed: &[u8]) -> Option<Self> {
        let data = if compressed.is_empty() { Vec::new() } else { zstd::decode_all(compressed).ok()? };
        let (mut events, mut at) = (Vec::new(), 0_usize);
        for (index, (_, count)) in frame.summary.kinds.iter().enumerate() {
            for _ in 0..*count {
                let length = u32::from_le_bytes(*data.get(at..)?.first_chunk::<4>()?);
                at = at.checked_add(4)?.checked_add(usize::try_from(length).ok()?)?;
                data.get(..at)?;
                events.push((at, index));
            }
        }
        let kinds = frame.summary.kinds.iter().map(|(name, _)| name.clone()).collect();
        let count = u64::try_from(events.len()).ok()?;
        (at == data.len() && frame.first + count == frame.record().head + 1).then(|| Self {
            first: frame.first,
            data: data.into(),
            events,
            kinds,
        })
    }

    /// Returns the events after a `seq`: each with its kind and its JSON, `None` if that is not text.
    pub fn iter_after(&self, after: u64) -> impl Iterator<Item = (u64, &str, Option<&str>)> {
        let skipped = usize::try_from((after + 1).saturating_sub(self.first)).unwrap_or(usize::MAX);
        let start =
            |index: usize| 4 + index.checked_sub(1).and_then(|last| self.events.get(last)).map_or(0, |(end, _)| *end);
        (self.first..).zip(self.events.iter().enumerate()).skip(skipped).map(move |(seq, (index, (end, kind)))| {
            let json = self.data.get(start(index)..*end).and_then(|json| std::str::from_utf8(json).ok());
            (seq, self.kinds.get(*kind).map(String::as_str).unwrap_or_default(), json)
        })
    }

    pub fn memory_bytes(&self) -> usize {
        self.data.len() + self.events.len() * size_of::<(usize, usize)>()
    }
}

/// Returns the name of an object with some content of a session: the ID, the SHA-256 and the size.
pub fn object_name(session: &Id, data: &[u8]) -> String {
    format!("{session}.{}.{}", to_hex(&Sha256::digest(data)), data.len())
}

/// Returns whether data is the content of an object.
pub fn matches_object_name(name: &str, session: &Id, data: &[u8]) -> bool {
    object_name(session, data) == name
}

fn object_bytes(name: &str) -> usize {
    name.rsplit('.').next().and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}

fn hash_frame<'a>(fields: impl Iterator<Item = &'a str>, payload: &[u8]) -> String {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update(field);
        hash.update("\n");
    }
    hash.update(payload);
    to_hex(&hash.finalize())
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn compress(session: &Id, data: &[u8]) -> Result<Vec<u8>, StoreError> {
    zstd::bulk::compress(data, COMPRESSION_LEVEL).map_err(|error| StoreError::Unreadable {
        session: session.clone(),
        what: "a frame",
        error: serde_json::Error::io(error),
    })
}
