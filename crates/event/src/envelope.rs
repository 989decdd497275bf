//! The envelope of an event, written and read by hand: a verbatim `native` does not pass through serde's
//! tagged enums or `flatten`.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::{Body, Dir, Id, Kind, Native, NativeBody, Timestamp};

/// One event of a session.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its place in the session: 1, 2, 3, …
    pub seq: u64,
    /// The session.
    pub session: Id,
    /// When it happened, never before the event before it: an agent's own times may go back, and stay as they are in
    /// `native`.
    pub at: Timestamp,
    /// The agent.
    pub agent: Id,
    /// Which process of the session, from 1.
    pub run: u32,
    /// The turn it belongs to.
    pub turn: Option<u32>,
    /// The item it is about.
    pub item: Option<Id>,
    /// The item under which a subagent works.
    pub parent: Option<Id>,
    /// The subagent's own thread; what carries one is not part of the answer.
    pub thread: Option<Id>,
    /// What happened.
    pub body: Body,
    /// The record that caused it, if this is the first event that it caused.
    pub native: Option<Native>,
    /// The event that carries the record that caused this one too.
    pub cause: Option<u64>,
}

impl Event {
    /// The id of the event: unique, and the same whenever the session is read again.
    #[must_use]
    pub fn id(&self) -> EventId {
        EventId { session: hash(self.session.as_bytes()), seq: self.seq }
    }

    /// Adds its wire form to a text: the same as serde writes, faster. Every event is written once, and there are many.
    ///
    /// # Errors
    /// Never with the types that events have.
    pub fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        out.extend_from_slice(br#"{"v":1,"seq":"#);
        number(self.seq, out)?;
        out.extend_from_slice(br#","id":""#);
        self.id().write_to(out);
        out.extend_from_slice(br#"","session":"#);
        text(Some(&self.session), out)?;
        out.extend_from_slice(br#","at":"#);
        serde_json::to_writer(&mut *out, &self.at)?;
        out.extend_from_slice(br#","agent":"#);
        text(Some(&self.agent), out)?;
        out.extend_from_slice(br#","run":"#);
        number(self.run.into(), out)?;
        out.extend_from_slice(br#","turn":"#);
        match self.turn {
            Some(turn) => number(turn.into(), out)?,
            None => out.extend_from_slice(b"null"),
        }
        for (name, id) in [("item", &self.item), ("parent", &self.parent), ("thread", &self.thread)] {
            out.extend_from_slice(b",\"");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            text(id.as_deref(), out)?;
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
                text(Some(enc), out)?;
            }
            out.extend_from_slice(br#","native":"#);
            out.extend_from_slice(raw.get().as_bytes());
        }
        if let Some(cause) = self.cause {
            out.extend_from_slice(br#","cause":"#);
            number(cause, out)?;
        }
        Ok(())
    }

    /// Reads one event from its wire form.
    ///
    /// # Errors
    /// If it is not JSON, or not an event.
    pub fn from_json(text: &str) -> Result<Self, EventError> {
        let wire: Wire<'_> = serde_json::from_str(text).map_err(EventError::Envelope)?;
        let body = Body::read(wire.kind, wire.data.get()).map_err(|e| EventError::Data(wire.kind, e))?;
        let native = wire.native.map(|raw| Native {
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

fn number(number: u64, out: &mut Vec<u8>) -> serde_json::Result<()> {
    serde_json::to_writer(out, &number)
}

/// A text, or null. Ids have nothing to escape, so that is looked at first.
fn text(text: Option<&str>, out: &mut Vec<u8>) -> serde_json::Result<()> {
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

/// Why something is not an event.
#[derive(Debug, Error)]
pub enum EventError {
    /// The envelope is wrong.
    #[error("not an event: {0}")]
    Envelope(serde_json::Error),
    /// The data is not that of its kind.
    #[error("data of {0:?}: {1}")]
    Data(Kind, serde_json::Error),
}

/// An event's id: it prints as `evt_`, a hash of the session, and the `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    session: u64,
    seq: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text(&mut [0; LONGEST]))
    }
}

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text(&mut [0; LONGEST]))
    }
}

/// `evt_`, eight digits of the hash, `_`, and the longest `seq`.
const LONGEST: usize = 4 + 8 + 1 + 20;

impl EventId {
    /// Adds the id to a text.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text(&mut [0; LONGEST]).as_bytes());
    }

    /// Written by hand, from the end: every message has an id.
    fn text<'a>(&self, out: &'a mut [u8; LONGEST]) -> &'a str {
        let mut at = LONGEST;
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

/// A short hash of the session's id that stays the same across versions. It only has to tell sessions apart.
fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mut words = bytes.chunks_exact(8);
    let whole = words
        .by_ref()
        .fold(0xcbf2_9ce4_8422_2325, |hash, chunk| mix(hash, u64::from_le_bytes(chunk.try_into().unwrap_or_default())));
    words.remainder().iter().fold(whole, |hash, byte| mix(hash, u64::from(*byte)))
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("v", &1)?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("id", &self.id())?;
        map.serialize_entry("session", &self.session)?;
        map.serialize_entry("at", &self.at)?;
        map.serialize_entry("agent", &self.agent)?;
        map.serialize_entry("run", &self.run)?;
        map.serialize_entry("turn", &self.turn)?;
        map.serialize_entry("item", &self.item)?;
        map.serialize_entry("parent", &self.parent)?;
        map.serialize_entry("thread", &self.thread)?;
        map.serialize_entry("kind", &self.body.kind())?;
        map.serialize_entry("data", &self.body)?;
        if let Some(native) = &self.native {
            let (raw, enc) = native.body.to_wire();
            map.serialize_entry("dir", &native.dir)?;
            if let Some(enc) = enc {
                map.serialize_entry("enc", enc)?;
            }
            map.serialize_entry("native", &*raw)?;
        }
        if let Some(cause) = self.cause {
            map.serialize_entry("cause", &cause)?;
        }
        map.end()
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
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
    #[serde(borrow, default, deserialize_with = "crate::text::present")]
    native: Option<&'a RawValue>,
    cause: Option<u64>,
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
