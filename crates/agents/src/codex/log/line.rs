//! One record of a rollout, whatever its age: `{timestamp, type, payload}`, or bare as in 2025, when the first line was the
//! session and each other one an item.

use std::borrow::Cow;

use switchboard_event::Timestamp;

use super::known;
use crate::{Json, Object, walk::Walk};

/// A record, taken apart.
pub struct Line<'a> {
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Its place in the thread's history, in files that have such places.
    pub ordinal: Option<u64>,
    /// What kind of record it is.
    pub kind: Cow<'a, str>,
    /// What it says.
    pub payload: Json<'a>,
    /// The fields of what it says.
    pub fields: Object<'a>,
}

impl<'a> Line<'a> {
    /// Takes the record apart that a walk is at; nothing for what is no object or has no kind.
    pub fn of(walk: &mut Walk<'a>) -> Option<Self> {
        let (mut fields, mut inside, mut payload) = (Object::default(), Object::default(), None);
        let record = walk.object(|key, walk| match key {
            "payload" if payload.is_none() => {
                let text = walk.object(|key, walk| inside.push(key, walk.value()));
                payload = Some(Json::known(text)).filter(|payload| !payload.is_null());
            }
            _ => fields.push(key, walk.value()),
        });
        let at = fields.str("timestamp").and_then(|at| Timestamp::parse(&at));
        let Some(payload) = payload else { return Self::bare(at, Json::known(record), fields) };
        let (kind, ordinal) = (fields.str("type")?, fields.u64("ordinal"));
        Some(Self { at, ordinal, kind, payload, fields: inside })
    }

    fn bare(at: Option<Timestamp>, record: Json<'a>, fields: Object<'a>) -> Option<Self> {
        let kind = match () {
            () if fields.has("record_type") => fields.str("record_type")?,
            () if fields.has("type") && fields.get("type").and_then(Json::str).is_some() => "response_item".into(),
            () if fields.has("id") && (fields.has("timestamp") || fields.has("instructions")) => "session_meta".into(),
            () => return None,
        };
        Some(Self { at, ordinal: None, kind, payload: record, fields })
    }

    /// The kind of what it says.
    pub fn what(&self) -> Cow<'a, str> {
        self.fields.str("type").unwrap_or_default()
    }

    /// What it is called: items and events have names of their own.
    pub fn name(&self) -> String {
        match (self.kind.as_ref(), self.what()) {
            ("response_item" | "event_msg", what) if !what.is_empty() => what.into_owned(),
            (kind, _) => kind.to_owned(),
        }
    }

    /// It is of a kind that we know, be it only by name.
    pub fn is_known(&self) -> bool {
        known::is(&self.kind, &self.what())
    }
}

/// The records of a `rollout-*.json` of 2025: its session, and each of its items.
pub fn of_document(text: &str) -> Vec<String> {
    let Some(document) = Json::parse(text).map(Json::object).filter(|document| document.has("items")) else {
        return vec![text.to_owned()];
    };
    let session = document.get("session").into_iter();
    session.chain(document.array("items")).map(|record| record.text().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Line, of_document};
    use crate::walk::Walk;

    fn check(record: &str, kind: Option<&str>, what: &str) {
        let line = Line::of(&mut Walk::new(record));
        assert_eq!(line.as_ref().map(|line| &*line.kind), kind, "{record}");
        assert_eq!(line.map(|line| line.what().into_owned()).unwrap_or_default(), what, "{record}");
    }

    #[test]
    fn records_of_all_ages() {
        check(
            r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count"}}"#,
            Some("event_msg"),
            "token_count",
        );
        check(
            r#"{"id":"s","timestamp":"2025-05-07T17:24:21.123Z","instructions":null,"git":{}}"#,
            Some("session_meta"),
            "",
        );
        check(r#"{"type":"message","role":"user","content":[]}"#, Some("response_item"), "message");
        check(r#"{"record_type":"state"}"#, Some("state"), "");
        check(r#"{"type":7}"#, None, "");
        check("[1]", None, "");
    }

    #[test]
    fn a_document_is_its_session_and_its_items() {
        let document =
            "{\n \"session\": {\"id\":\"s\"},\n \"items\": [{\"type\":\"message\"}, {\"type\":\"reasoning\"}]\n}";
        assert_eq!(of_document(document), [r#"{"id":"s"}"#, r#"{"type":"message"}"#, r#"{"type":"reasoning"}"#]);
        assert_eq!(of_document("{\"torn"), ["{\"torn"]);
    }
}
