//! Where a thread comes from. A fork or a subagent of a legacy history begins with a copy of another thread's records,
//! written with the times of the copying or with the old ones; one of a paginated history only names the other thread.

use serde::{Deserialize, Serialize};
use switchboard_event::Timestamp;

use crate::{Base, Json, Object};

/// Records that follow each other faster than this were copied: no model answers within it. Only asked of turns whose
/// names tell no time.
const BURST_MS: u64 = 500;

/// What `session_meta` says about a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lineage {
    session: Option<String>,
    /// When the thread began, in milliseconds since 1970.
    began: Option<i64>,
    /// The thread whose turns were copied, and of several the oldest.
    root: Option<String>,
    /// The history of the other thread is not in this file.
    referred: bool,
    /// The last record in the burst that a copy begins with; nothing if it is over.
    burst: Option<Timestamp>,
}

impl Lineage {
    /// The file's own name for the thread, as long as no record says it.
    pub fn named(session: Option<String>) -> Self {
        Self { root: None, session, ..Self::default() }
    }

    /// Learns from a `session_meta`. True for the file's own.
    pub fn meta(&mut self, meta: &Object<'_>, at: Option<Timestamp>) -> bool {
        let id = meta.filled("id");
        if self.began.is_some() {
            let other = id.filter(|id| self.session.as_ref() != Some(id));
            let own = other.is_none();
            self.root = other.or(self.root.take());
            return own;
        }
        let told = meta.str("timestamp").and_then(|at| Timestamp::parse(&at)).or(at);
        let millis = |at: Timestamp| at.as_micros() / 1000;
        let named = id.as_deref().and_then(born);
        self.began = Some(named.or_else(|| told.map(millis)).unwrap_or_default());
        self.session = id.or(self.session.take());
        self.referred = base(meta).is_some();
        self.root = meta.filled("forked_from_id").or_else(|| spawned_by(meta));
        self.burst = told.or(at);
        true
    }

    /// It began as a copy, or goes on from another thread.
    pub fn is_copy(&self) -> bool {
        self.root.is_some() || self.referred
    }

    /// A record was written that belongs to what is counted.
    pub fn wrote(&mut self, at: Option<Timestamp>) {
        let Some((last, at)) = self.burst.zip(at) else { return };
        let goes_on = at <= last || at.millis_since(last) < BURST_MS;
        self.burst = goes_on.then(|| at.max(last));
    }

    /// What was just written was copied. A turn's name says when it began, and what began before the thread is not its
    /// own.
    pub fn copied(&self, turn: Option<&str>, at: Option<Timestamp>) -> bool {
        if let Some((turn, began)) = turn.and_then(born).zip(self.began) {
            return turn < began;
        }
        let fast = self.burst.zip(at).is_some_and(|(last, at)| at <= last || at.millis_since(last) < BURST_MS);
        self.root.is_some() && !self.referred && fast
    }

    /// The thread.
    pub fn session(&self) -> &str {
        self.session.as_deref().unwrap_or_default()
    }

    /// The thread that its turns come from.
    pub fn root(&self) -> &str {
        self.root.as_deref().unwrap_or_else(|| self.session())
    }
}

/// The thread that made a subagent.
pub fn spawned_by(meta: &Object<'_>) -> Option<String> {
    let spawn = meta.object("source").object("subagent").object("thread_spawn");
    spawn.filled("parent_thread_id").or_else(|| meta.filled("parent_thread_id"))
}

/// Where the history is that the file itself does not have.
pub fn base(meta: &Object<'_>) -> Option<Base> {
    let base = meta.get("history_base").map(Json::object)?;
    Some(Base {
        session: base.filled("thread_id")?,
        records: base.count("end_ordinal_exclusive"),
        bytes: base.count("end_byte_offset"),
    })
}

/// It is a UUID, and means the same everywhere. Older turns were numbered in each process.
pub fn is_uuid(id: &str) -> bool {
    let dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    id.len() == 36 && id.bytes().enumerate().all(|(at, b)| if dash(at) { b == b'-' } else { b.is_ascii_hexdigit() })
}

/// When a UUID of version 7 was made, in milliseconds since 1970.
fn born(id: &str) -> Option<i64> {
    let millis = id.get(..8).zip(id.get(9..13)).filter(|_| is_uuid(id) && id.as_bytes().get(14) == Some(&b'7'));
    let (high, low) = millis?;
    i64::from_str_radix(&format!("{high}{low}"), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{born, is_uuid};

    #[test]
    fn names_tell_when_they_were_given() {
        assert_eq!(born("01a1e0a9-5f4e-7ce0-a9bb-fba447950f56"), Some(1_794_770_558_798));
        assert_eq!(born("b5f6c1c2-1111-4222-8333-444455556666"), None);
        assert!(is_uuid("b5f6c1c2-1111-4222-8333-444455556666") && !is_uuid("12") && !is_uuid(&"é".repeat(18)));
    }
}
