//! Rollout records of all versions: `{timestamp, type, payload}`, or bare as in 2025, when the first line was the
//! session and each following one an item. The oldest records have no type at all.

use std::borrow::Cow;

use switchboard_event::Timestamp;

use super::known;
use crate::{JsonObject, JsonView, walk::JsonWalker};

/// A parsed record.
pub struct RolloutRecord<'a> {
    pub at: Option<Timestamp>,
    /// Position in the thread's history, in files that have positions.
    pub ordinal: Option<u64>,
    pub kind: Cow<'a, str>,
    pub payload: JsonView<'a>,
    /// Fields of the payload.
    pub fields: JsonObject<'a>,
}

impl<'a> RolloutRecord<'a> {
    /// Parses the record at the walk's position. Returns `None` if it is not an object or has no kind.
    pub fn parse(walk: &mut JsonWalker<'a>) -> Option<Self> {
        let (mut fields, mut inside, mut payload) = (JsonObject::default(), JsonObject::default(), None);
        let record = walk.walk_object(|key, walk| match key {
            "payload" if payload.is_none() => {
                let text = walk.walk_object(|key, walk| inside.push(key, walk.take_value()));
                payload = Some(JsonView::from_valid_text(text)).filter(|payload| !payload.is_null());
            }
            _ => fields.push(key, walk.take_value()),
        });
        let at = fields.get_str("timestamp").and_then(|at| Timestamp::parse(&at));
        let Some(payload) = payload else { return Self::parse_bare(at, JsonView::from_valid_text(record), fields) };
        let kind = match fields.get("type") {
            Some(kind) => kind.as_str()?,
            None => infer_kind(&inside)?,
        };
        Some(Self { at, ordinal: fields.get_u64("ordinal"), kind, payload, fields: inside })
    }

    fn parse_bare(at: Option<Timestamp>, record: JsonView<'a>, fields: JsonObject<'a>) -> Option<Self> {
        let kind =
            if fields.contains_key("record_type") { fields.get_str("record_type")? } else { infer_kind(&fields)? };
        Some(Self { at, ordinal: None, kind, payload: record, fields })
    }

    pub fn payload_type(&self) -> Cow<'a, str> {
        match self.fields.get("type") {
            Some(what) => what.as_str().unwrap_or_default(),
            None if self.kind == "response_item" => infer_item_type(&self.fields).unwrap_or_default().into(),
            None => Cow::default(),
        }
    }

    /// Returns the type of an item or event, else the kind of the record.
    pub fn record_name(&self) -> String {
        match (self.kind.as_ref(), self.payload_type()) {
            ("response_item" | "event_msg", what) if !what.is_empty() => what.into_owned(),
            (kind, _) => kind.to_owned(),
        }
    }

    /// Returns whether the kind is known, if only by name.
    pub fn is_known(&self) -> bool {
        known::is_known(&self.kind, &self.payload_type())
    }
}

/// Infers the kind of a record without a type from its fields.
fn infer_kind(fields: &JsonObject<'_>) -> Option<Cow<'static, str>> {
    let has_any = |keys: &[&str]| keys.iter().any(|key| fields.contains_key(key));
    Some(match fields.get("type") {
        Some(what)
            if known::is_known("event_msg", &what.as_str()?) && !known::is_known("response_item", &what.as_str()?) =>
        {
            "event_msg".into()
        }
        Some(_) => "response_item".into(),
        None if infer_item_type(fields).is_some() => "response_item".into(),
        None if fields.contains_key("id") && has_any(&["timestamp", "instructions", "cwd"]) => "session_meta".into(),
        None if has_any(&["sandbox_policy", "approval_policy"]) => "turn_context".into(),
        None => return None,
    })
}

/// Infers the type of an item without one.
fn infer_item_type(fields: &JsonObject<'_>) -> Option<&'static str> {
    match () {
        () if fields.contains_key("role") => Some("message"),
        () if fields.contains_key("name") && fields.contains_key("call_id") => Some("function_call"),
        () if fields.contains_key("call_id") && (fields.contains_key("output") || fields.contains_key("status")) => {
            Some("function_call_output")
        }
        () => None,
    }
}

/// Splits a `rollout-*.json` of 2025 into records: its session, and each of its items.
pub fn split_document(text: &str) -> Vec<String> {
    let Some(document) =
        JsonView::parse(text).map(JsonView::as_object).filter(|document| document.contains_key("items"))
    else {
        return vec![text.to_owned()];
    };
    let session = document.get("session").into_iter();
    session.chain(document.get_array("items")).map(|record| record.raw_text().to_owned()).collect()
}

#[cfg(test)]
mod tests {

    use super::{RolloutRecord, split_document};
    use crate::walk::JsonWalker;

    fn check_record(record: &str, kind: Option<&str>, what: &str) {
        let line = RolloutRecord::parse(&mut JsonWalker::new(record));
        assert_eq!(line.as_ref().map(|line| &*line.kind), kind, "{record}");
        assert_eq!(line.map(|line| line.payload_type().into_owned()).unwrap_or_default(), what, "{record}");
    }

    #[test]
    fn records_of_all_ages() {
        check_record(
            r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count"}}"#,
            Some("event_msg"),
            "token_count",
        );
        check_record(
            r#"{"id":"s","timestamp":"2025-05-07T17:24:21.123Z","instructions":null,"git":{}}"#,
            Some("session_meta"),
            "",
        );
        check_record(r#"{"type":"message","role":"user","content":[]}"#, Some("response_item"), "message");
        check_record(r#"{"record_type":"state"}"#, Some("state"), "");
        check_record(r#"{"type":7}"#, None, "");
        check_record(r#"{"payload":{"type":"message","role":"user"}}"#, Some("response_item"), "message");
        check_record(r#"{"payload":{"role":"user","text":"go"}}"#, Some("response_item"), "message");
        check_record(r#"{"payload":{"name":"shell","call_id":"c"}}"#, Some("response_item"), "function_call");
        check_record(
            r#"{"payload":{"status":"completed","call_id":"c"}}"#,
            Some("response_item"),
            "function_call_output",
        );
        check_record(r#"{"name":"shell","arguments":"{}","call_id":"c"}"#, Some("response_item"), "function_call");
        check_record(r#"{"payload":{"type":"token_count","info":null}}"#, Some("event_msg"), "token_count");
        check_record(r#"{"payload":{"type":"sandbox_policy"}}"#, Some("response_item"), "sandbox_policy");
        check_record(r#"{"payload":{"id":"s","cwd":"/w"}}"#, Some("session_meta"), "");
        check_record(r#"{"payload":{"cwd":"/w","model":"m","sandbox_policy":{}}}"#, Some("turn_context"), "");
        check_record(r#"{"payload":{"odd":1}}"#, None, "");
        check_record("[1]", None, "");
    }

    #[test]
    fn a_document_is_its_session_and_its_items() {
        let document =
            "{\n \"session\": {\"id\":\"s\"},\n \"items\": [{\"type\":\"message\"}, {\"type\":\"reasoning\"}]\n}";
        assert_eq!(split_document(document), [r#"{"id":"s"}"#, r#"{"type":"message"}"#, r#"{"type":"reasoning"}"#]);
        assert_eq!(split_document("{\"torn"), ["{\"torn"]);
    }
}
