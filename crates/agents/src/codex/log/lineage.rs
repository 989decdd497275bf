//! Origin of a thread. A fork or a subagent of a legacy history begins with a copy of another thread's records, with
//! either new or original timestamps; one of a paginated history only references the other thread.

use serde::{Deserialize, Serialize};
use switchboard_event::Timestamp;

use crate::{ForkBase, JsonObject, JsonView};

/// Records with smaller gaps were copied, because no model answers that fast. Used only for turns whose ids contain no
/// time.
const MAX_COPY_GAP_MS: u64 = 500;

/// Facts from the `session_meta` of a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ThreadLineage {
    session: Option<String>,
    /// Start of the thread, in milliseconds since 1970.
    began: Option<i64>,
    /// The thread whose turns were copied; the oldest, if there are several.
    root: Option<String>,
    /// The other thread's history is referenced and not part of this file.
    referred: bool,
    /// Time of the last record in the burst that a copy begins with; `None` once it is over.
    burst: Option<Timestamp>,
}

impl ThreadLineage {
    /// Starts with the thread id of the file name, until a record has one.
    pub fn with_session(session: Option<String>) -> Self {
        Self { root: None, session, ..Self::default() }
    }

    /// Reads a `session_meta`. Returns true for the file's own.
    pub fn read_session_meta(&mut self, meta: &JsonObject<'_>, at: Option<Timestamp>) -> bool {
        let id = meta.get_non_empty("id");
        if self.began.is_some() {
            let other = id.filter(|id| self.session.as_ref() != Some(id));
            let own = other.is_none();
            self.root = other.or(self.root.take());
            return own;
        }
        let told = meta.get_str("timestamp").and_then(|at| Timestamp::parse(&at)).or(at);
        let millis = |at: Timestamp| at.as_micros() / 1000;
        let named = id.as_deref().and_then(uuid_millis);
        self.began = Some(named.or_else(|| told.map(millis)).unwrap_or_default());
        self.session = id.or(self.session.take());
        self.referred = history_base(meta).is_some();
        self.root = meta.get_non_empty("forked_from_id").or_else(|| parent_thread(meta));
        self.burst = told.or(at);
        true
    }

    /// Returns whether the thread began as a copy or continues another thread.
    pub fn is_copy(&self) -> bool {
        self.root.is_some() || self.referred
    }

    /// Notes the time of a record that matters for usage.
    pub fn note_record(&mut self, at: Option<Timestamp>) {
        let Some((last, at)) = self.burst.zip(at) else { return };
        let goes_on = at <= last || at.millis_since(last) < MAX_COPY_GAP_MS;
        self.burst = goes_on.then(|| at.max(last));
    }

    /// Returns whether the current record was copied. A turn's id contains its start time, and a turn that started
    /// before the thread belongs to another one.
    pub fn is_copied(&self, turn: Option<&str>, at: Option<Timestamp>) -> bool {
        if let Some((turn, began)) = turn.and_then(uuid_millis).zip(self.began) {
            return turn < began;
        }
        let fast = self.burst.zip(at).is_some_and(|(last, at)| at <= last || at.millis_since(last) < MAX_COPY_GAP_MS);
        self.root.is_some() && !self.referred && fast
    }

    pub fn session_id(&self) -> &str {
        self.session.as_deref().unwrap_or_default()
    }

    /// Returns the thread that the turns come from.
    pub fn root_session_id(&self) -> &str {
        self.root.as_deref().unwrap_or_else(|| self.session_id())
    }
}

/// Returns the thread that spawned a subagent.
pub fn parent_thread(meta: &JsonObject<'_>) -> Option<String> {
    let spawn = meta.get_object("source").get_object("subagent").get_object("thread_spawn");
    spawn.get_non_empty("parent_thread_id").or_else(|| meta.get_non_empty("parent_thread_id"))
}

/// Returns the location of the history that is not part of the file.
pub fn history_base(meta: &JsonObject<'_>) -> Option<ForkBase> {
    let base = meta.get("history_base").map(JsonView::as_object)?;
    Some(ForkBase {
        session: base.get_non_empty("thread_id")?,
        records: base.get_count("end_ordinal_exclusive"),
        bytes: base.get_count("end_byte_offset"),
    })
}

/// Returns whether the id is a UUID, which is globally unique. Older turns were numbered per process.
pub fn is_uuid(id: &str) -> bool {
    let dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    id.len() == 36 && id.bytes().enumerate().all(|(at, b)| if dash(at) { b == b'-' } else { b.is_ascii_hexdigit() })
}

/// Returns the creation time of a version 7 UUID, in milliseconds since 1970.
fn uuid_millis(id: &str) -> Option<i64> {
    let millis = id.get(..8).zip(id.get(9..13)).filter(|_| is_uuid(id) && id.as_bytes().get(14) == Some(&b'7'));
    let (high, low) = millis?;
    i64::from_str_radix(&format!("{high}{low}"), 16).ok()
}

#[cfg(test)]
mod tests {

    use super::{is_uuid, uuid_millis};

    #[test]
    fn names_tell_when_they_were_given() {
        assert_eq!(uuid_millis("01a1e0a9-5f4e-7ce0-a9bb-fba447950f56"), Some(1_794_770_558_798));
        assert_eq!(uuid_millis("b5f6c1c2-1111-4222-8333-444455556666"), None);
        assert!(is_uuid("b5f6c1c2-1111-4222-8333-444455556666") && !is_uuid("12") && !is_uuid(&"é".repeat(18)));
    }
}
