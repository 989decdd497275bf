//! One record of a rollout, whatever its age: `{timestamp, type, payload}`, or bare as in 2025, when the first line was the
//! session and each other one an item. The oldest name no kind, neither around what they say nor in it.

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
        let kind = match fields.get("type") {
            Some(kind) => kind.str()?,
            None => infer_kind(&inside)?,
        };
        Some(Self { at, ordinal: fields.u64("ordinal"), kind, payload, fields: inside })
    }

    fn bare(at: Option<Timestamp>, record: Json<'a>, fields: Object<'a>) -> Option<Self> {
        let kind = if fields.has("record_type") { fields.str("record_type")? } else { infer_kind(&fields)? };
        Some(Self { at, ordinal: None, kind, payload: record, fields })
    }

    /// The kind of what it says.
    pub fn what(&self) -> Cow<'a, str> {
        match self.fields.get("type") {
            Some(what) => what.str().unwrap_or_default(),
            None if self.kind == "response_item" => infer_item(&self.fields).unwrap_or_default().into(),
            None => Cow::default(),
        }
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

/// The kind of a record that does not name it, by what it says.
fn infer_kind(fields: &Object<'_>) -> Option<Cow<'static, str>> {
    let has_any = |keys: &[&str]| keys.iter().any(|key| fields.has(key));
    Some(match fields.get("type") {
        Some(what) if known::is("event_msg", &what.str()?) && !known::is("response_item", &what.str()?) => {
            "event_msg".into()
        }
        Some(_) => "response_item".into(),
        None if infer_item(fields).is_some() => "response_item".into(),
        None if fields.has("id") && has_any(&["timestamp", "instructions", "cwd"]) => "session_meta".into(),
        None if has_any(&["sandbox_policy", "approval_policy"]) => "turn_context".into(),
        None => return None,
    })
}

/// The kind of an item that does not name it.
fn infer_item(fields: &Object<'_>) -> Option<&'static str> {
    match () {
        () if fields.has("role") => Some("message"),
        () if fields.has("name") && fields.has("call_id") => Some("function_call"),
        () if fields.has("call_id") && (fields.has("output") || fields.has("status")) => Some("function_call_output"),
        () => None,
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
        check(r#"{"payload":{"type":"message","role":"user"}}"#, Some("response_item"), "message");
        check(r#"{"payload":{"role":"user","text":"go"}}"#, Some("response_item"), "message");
        check(r#"{"payload":{"name":"shell","call_id":"c"}}"#, Some("response_item"), "function_call");
        check(r#"{"payload":{"status":"completed","call_id":"c"}}"#, Some("response_item"), "function_call_output");
        check(r#"{"name":"shell","arguments":"{}","call_id":"c"}"#, Some("response_item"), "function_call");
        check(r#"{"payload":{"type":"token_count","info":null}}"#, Some("event_msg"), "token_count");
        check(r#"{"payload":{"type":"sandbox_policy"}}"#, Some("response_item"), "sandbox_policy");
        check(r#"{"payload":{"id":"s","cwd":"/w"}}"#, Some("session_meta"), "");
        check(r#"{"payload":{"cwd":"/w","model":"m","sandbox_policy":{}}}"#, Some("turn_context"), "");
        check(r#"{"payload":{"odd":1}}"#, None, "");
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
