//! The envelope of an event, written and read by hand: a verbatim `native` does not survive serde's tagged enums or
//! `flatten`.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::{EventBody, Id, Kind, Timestamp};

/// One event of a session.
#[derive(Clone, Debug)]
pub struct Event {
    /// The sequence number in the session: 1, 2, 3, …
    pub seq: u64,
    /// The session.
    pub session: Id,
    /// The time of the event, never earlier than that of the previous event. An agent's own times may go backwards;
    /// they stay unchanged in `native`.
    pub at: Timestamp,
    /// The agent.
    pub agent: Id,
    /// The run of the session (one process each), from 1.
    pub run: u32,
    /// The turn that the event belongs to.
    pub turn: Option<u32>,
    /// The item that the event is about.
    pub item: Option<Id>,
    /// The item that runs the subagent.
    pub parent: Option<Id>,
    /// The subagent's own thread; an event with a thread is not part of the answer.
    pub thread: Option<Id>,
    /// The content of the event.
    pub body: EventBody,
    /// The native record that caused the event, if this is the first event that it caused.
    pub native: Option<NativeRecord>,
    /// The event that carries the native record, if that record caused an earlier event as well.
    pub cause: Option<u64>,
}

impl Event {
    /// Returns the ID of the event: unique, and the same whenever the session is read again.
    #[must_use]
    pub fn id(&self) -> EventId {
        EventId { session: hash_session_id(self.session.as_bytes()), seq: self.seq }
    }

    /// Appends the wire form of the event to a buffer. Serialized by hand for speed: every event passes through here.
    ///
    /// # Errors
    /// Never fails with the types that events have.
    pub fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        out.extend_from_slice(br#"{"v":1,"seq":"#);
        write_number(self.seq, out)?;
        out.extend_from_slice(br#","id":""#);
        self.id().write_to(out);
        out.extend_from_slice(br#"","session":"#);
        write_string(Some(&self.session), out)?;
        out.extend_from_slice(br#","at":"#);
        serde_json::to_writer(&mut *out, &self.at)?;
        out.extend_from_slice(br#","agent":"#);
        write_string(Some(&self.agent), out)?;
        out.extend_from_slice(br#","run":"#);
        write_number(self.run.into(), out)?;
        out.extend_from_slice(br#","turn":"#);
        match self.turn {
            Some(turn) => write_number(turn.into(), out)?,
            None => out.extend_from_slice(b"null"),
        }
        for (name, id) in [("item", &self.item), ("parent", &self.parent), ("thread", &self.thread)] {
            out.extend_from_slice(b",\"");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            write_string(id.as_deref(), out)?;
        }
        out.extend_from_slice(br#","kind":"#);
        serde_json::to_writer(&mut *out, &self.body.kind())?;
        out.extend_from_slice(br#","data":"#);
        serde_json::to_writer(&mut *out, &self.body)?;
        self.write_record(out)?;
        out.push(b'}');
        Ok(())
    }

    fn write_record(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        if let Some(native) = &self.native {
            let (raw, enc) = native.body.to_wire();
            out.extend_from_slice(br#","dir":"#);
            serde_json::to_writer(&mut *out, &native.dir)?;
            if let Some(enc) = enc {
                out.extend_from_slice(br#","enc":"#);
                write_string(Some(enc), out)?;
            }
            out.extend_from_slice(br#","native":"#);
            out.extend_from_slice(raw.get().as_bytes());
        }
        if let Some(cause) = self.cause {
            out.extend_from_slice(br#","cause":"#);
            write_number(cause, out)?;
        }
        Ok(())
    }

    /// Returns the item of an event in its wire form without decoding the rest; `None` if it cannot be determined.
    #[must_use]
    pub fn peek_item(json: &str) -> Option<&str> {
        // Relies on the field order of `write_json`; before `kind`, only ids contain text from the agent.
        let (envelope, _) = json.split_once(r#","kind":""#)?;
        let (_, rest) = envelope.rsplit_once(r#","item":""#)?;
        let (id, _) = rest.split_once('"')?;
        (!id.contains('\\')).then_some(id)
    }

    /// Parses one event from its wire form.
    ///
    /// # Errors
    /// Fails if the text is not JSON or not an event.
    pub fn from_json(text: &str) -> Result<Self, EventError> {
        let wire: EventWire<'_> = serde_json::from_str(text).map_err(EventError::Envelope)?;
        let body = EventBody::parse_data(wire.kind, wire.data.get()).map_err(|e| EventError::Data(wire.kind, e))?;
        let native = wire.native.map(|raw| NativeRecord {
            dir: wire.dir.unwrap_or_default(),
            body: NativeBody::from_wire(raw, wire.enc.as_deref()),
        });
        Ok(Self {
            seq: wire.seq,
            session: wire.session,
            at: wire.at,
            agent: wire.agent,
            run: wire.run,
            turn: wire.turn,
            item: wire.item,
            parent: wire.parent,
            thread: wire.thread,
            body,
            native,
            cause: wire.cause,
        })
    }
}

fn write_number(number: u64, out: &mut Vec<u8>) -> serde_json::Result<()> {
    serde_json::to_writer(out, &number)
}

/// Writes a string or null. Ids rarely need escaping, so the unescaped case is checked first.
fn write_string(text: Option<&str>, out: &mut Vec<u8>) -> serde_json::Result<()> {
    match text {
        None => out.extend_from_slice(b"null"),
        Some(text) if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') => {
            out.push(b'"');
            out.extend_from_slice(text.as_bytes());
            out.push(b'"');
        }
        Some(text) => return serde_json::to_writer(out, text),
    }
    Ok(())
}

/// The reason why a text is not an event.
#[derive(Debug, Error)]
pub enum EventError {
    /// The envelope is malformed.
    #[error("not an event: {0}")]
    Envelope(serde_json::Error),
    /// The data does not match the kind.
    #[error("data of {0:?}: {1}")]
    Data(Kind, serde_json::Error),
}

/// The ID of an event, printed as `evt_`, a hash of the session, and the `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    session: u64,
    seq: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.encode_into(&mut [0; MAX_EVENT_ID_BYTES]))
    }
}

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.encode_into(&mut [0; MAX_EVENT_ID_BYTES]))
    }
}

/// The length of `evt_`, eight digits of the hash, `_`, and the longest `seq`.
const MAX_EVENT_ID_BYTES: usize = 4 + 8 + 1 + 20;

impl EventId {
    /// Appends the ID to a buffer.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.encode_into(&mut [0; MAX_EVENT_ID_BYTES]).as_bytes());
    }

    /// Formats the ID by hand, from the end: every message has one, so this is hot.
    fn encode_into<'a>(&self, out: &'a mut [u8; MAX_EVENT_ID_BYTES]) -> &'a str {
        let mut at = MAX_EVENT_ID_BYTES;
        let mut put = |byte: u8| {
            at -= 1;
            if let Some(place) = out.get_mut(at) {
                *place = byte;
            }
        };
        let mut seq = self.seq;
        loop {
            put(b'0' + u8::try_from(seq % 10).unwrap_or_default());
            seq /= 10;
            if seq == 0 {
                break;
            }
        }
        put(b'_');
        for digit in 0..8 {
            let nibble = usize::try_from(self.session >> (4 * digit) & 0xf).unwrap_or_default();
            put(b"0123456789abcdef".get(nibble).copied().unwrap_or(b'0'));
        }
        b"evt_".iter().rev().for_each(|byte| put(*byte));
        out.get(at..).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }
}

/// Computes a short hash of a session ID that stays the same across versions. It only has to distinguish sessions.
fn hash_session_id(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mut words = bytes.chunks_exact(8);
    let whole = words
        .by_ref()
        .fold(0xcbf2_9ce4_8422_2325, |hash, chunk| mix(hash, u64::from_le_bytes(chunk.try_into().unwrap_or_default())));
    words.remainder().iter().fold(whole, |hash, byte| mix(hash, u64::from(*byte)))
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = Vec::new();
        self.write_json(&mut json).map_err(S::Error::custom)?;
        let json = String::from_utf8(json).map_err(S::Error::custom)?;
        RawValue::from_string(json).map_err(S::Error::custom)?.serialize(serializer)
    }
}

#[derive(Deserialize)]
struct EventWire<'a> {
    seq: u64,
    session: Id,
    at: Timestamp,
    agent: Id,
    #[serde(default)]
    run: u32,
    turn: Option<u32>,
    item: Option<Id>,
    parent: Option<Id>,
    thread: Option<Id>,
    kind: Kind,
    #[serde(borrow)]
    data: &'a RawValue,
    dir: Option<Dir>,
    #[serde(borrow, default)]
    enc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    native: Option<&'a RawValue>,
    cause: Option<u64>,
}

/// Which way a record went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dir {
    /// From the agent to us.
    #[default]
    In,
    /// From us to the agent.
    Out,
}

/// One native record, verbatim.
#[derive(Clone, Debug)]
pub struct NativeRecord {
    /// The direction of the record.
    pub dir: Dir,
    /// The content of the record.
    pub body: NativeBody,
}

/// The three forms of a record.
#[derive(Clone, Debug)]
pub enum NativeBody {
    /// Valid JSON, verbatim.
    Json(Box<RawValue>),
    /// Text that is not JSON.
    Text(String),
    /// Bytes that are not UTF-8.
    Bytes(Vec<u8>),
}

impl NativeBody {
    /// Returns the wire form: a JSON value, and the `enc` that describes its encoding unless the value is the record.
    #[must_use]
    pub fn to_wire(&self) -> (Cow<'_, RawValue>, Option<&'static str>) {
        use std::borrow::Cow;
        match self {
            Self::Json(raw) => (Cow::Borrowed(raw), None),
            Self::Text(text) => (Cow::Owned(to_raw_string(text)), Some("text")),
            Self::Bytes(bytes) => {
                (Cow::Owned(to_raw_json(&Base64Payload { base64: STANDARD.encode(bytes) })), Some("base64"))
            }
        }
    }

    /// Decodes the wire form. A value that cannot be decoded is kept as JSON.
    #[must_use]
    pub fn from_wire(raw: &RawValue, enc: Option<&str>) -> Self {
        let decoded = match enc {
            Some("text") => serde_json::from_str(raw.get()).ok().map(Self::Text),
            Some("base64") => serde_json::from_str::<Base64Payload>(raw.get())
                .ok()
                .and_then(|b| STANDARD.decode(b.base64).ok())
                .map(Self::Bytes),
            _ => None,
        };
        decoded.unwrap_or_else(|| Self::Json(raw.to_owned()))
    }
}

#[derive(Serialize, Deserialize)]
struct Base64Payload {
    base64: String,
}

/// Serializes a value to verbatim JSON; returns `null` if that fails.
#[must_use]
pub fn to_raw_json<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Returns a text as a verbatim JSON string.
#[must_use]
pub fn to_raw_string(text: &str) -> Box<RawValue> {
    to_raw_json(text)
}

/// Deserializes verbatim JSON that may be `null`: only an absent field is `None`.
pub(crate) fn deserialize_present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Deserializes an integer that may be written with a zero fraction, as JSON Schema allows.
pub(crate) fn deserialize_whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let written = number.as_f64().filter(|number| number.fract() == 0.0).map(|number| format!("{number:.0}"));
    let read = number.as_u64().and_then(|number| u32::try_from(number).ok());
    let read = read.or_else(|| written?.parse().ok());
    read.map(Some).ok_or_else(|| D::Error::custom(format_args!("{number} is not a whole number that fits")))
}

#[cfg(test)]
mod tests {
    use super::Event;

    #[test]
    fn null_is_not_nothing() {
        for (kind, data, record) in [
            ("notice", r#"{"topic":"unknown","level":"info","detail":null}"#, r#","dir":"in","native":null"#),
            ("item.started", r#"{"item":{"status":"running","type":"tool","output":"","result":null}}"#, ""),
            ("item.started", r#"{"item":{"status":"running","type":"unknown","name":"","raw":null}}"#, ""),
            ("item.started", r#"{"item":{"status":"running","type":"mcp","server":"","tool":""}}"#, ""),
        ] {
            let text = format!(
                r#"{{"v":1,"seq":1,"id":"","session":"","at":"2026-01-01T00:00:00.000000Z","agent":"","run":1,"turn":null,"item":null,"parent":null,"thread":null,"kind":"{kind}","data":{data}{record}}}"#
            );
            let event = Event::from_json(&text).unwrap();
            let again = serde_json::to_string(&event).unwrap();
            let mut written = Vec::new();
            event.write_json(&mut written).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), again);
            assert_eq!(again, text.replace(r#""id":"""#, &format!(r#""id":"{}""#, event.id())));
        }
    }
}
