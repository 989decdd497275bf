//! Rollout records of all versions: `{timestamp, type, payload}`, or bare as in 2025, when the first line was the
//! session and each following one an item. The oldest records have no type at all.

use std::borrow::Cow;

use switchboard_event::Timestamp;

use crate::{JsonObject, JsonView, split, walk::JsonWalker};

/// Number of bytes that are searched for a role or an item type.
const MAX_HEAD_BYTES: usize = 400;

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
        is_known(&self.kind, &self.payload_type())
    }
}

/// Infers the kind of a record without a type from its fields.
fn infer_kind(fields: &JsonObject<'_>) -> Option<Cow<'static, str>> {
    let has_any = |keys: &[&str]| keys.iter().any(|key| fields.contains_key(key));
    Some(match fields.get("type") {
        Some(what) if is_known("event_msg", &what.as_str()?) && !is_known("response_item", &what.as_str()?) => {
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

/// Classification of a record by its beginning.
#[derive(Debug, PartialEq, Eq)]
pub struct RecordHead<'a> {
    /// Kind of the record; for a bare item, the item's type.
    pub kind: &'a [u8],
    /// Type of the payload, if it is the first field, as Codex writes it.
    pub what: Option<&'a [u8]>,
    /// Beginning of the payload.
    pub near: &'a [u8],
}

/// Parses the beginning of a record, with or without whitespace. Returns `None` if it does not begin as Codex's records
/// do.
pub fn parse_head(record: &[u8]) -> Option<RecordHead<'_>> {
    let mut at = RecordHeadScanner { bytes: record, at: 0 };
    at.take_token(b'{')?;
    let mut kind = None;
    loop {
        let key = at.read_string()?;
        at.take_token(b':')?;
        match key {
            b"type" => kind = Some(at.read_string()?),
            b"payload" => return Some(parse_payload_head(kind?, at)),
            _ => at.skip_scalar()?,
        }
        match at.take_token(b',') {
            // The first field of a bare item is its type.
            Some(()) if key == b"type" && !at.has_payload() => {
                return kind.map(|kind| RecordHead { kind, what: None, near: first_bytes(record) });
            }
            Some(()) => {}
            None => return None,
        }
    }
}

fn parse_payload_head<'a>(kind: &'a [u8], mut at: RecordHeadScanner<'a>) -> RecordHead<'a> {
    let near = first_bytes(at.bytes.get(at.at..).unwrap_or_default());
    let mut what = || {
        at.take_token(b'{')?;
        let key = at.read_string()?;
        at.take_token(b':')?;
        if key == b"type" { at.read_string() } else { None }
    };
    RecordHead { kind, what: what(), near }
}

fn first_bytes(bytes: &[u8]) -> &[u8] {
    bytes.get(..MAX_HEAD_BYTES).unwrap_or(bytes)
}

struct RecordHeadScanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> RecordHeadScanner<'a> {
    fn skip_whitespace(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn take_token(&mut self, token: u8) -> Option<()> {
        self.skip_whitespace();
        (self.bytes.get(self.at) == Some(&token)).then(|| self.at += 1)
    }

    /// Reads a short string without escapes: names and times have none.
    fn read_string(&mut self) -> Option<&'a [u8]> {
        self.take_token(b'"')?;
        let rest = self.bytes.get(self.at..)?;
        let end = split::find_mark(first_bytes(rest), 0);
        self.at += end + 1;
        rest.get(..end).filter(|_| rest.get(end) == Some(&b'"'))
    }

    /// Skips a string, a number or a literal.
    fn skip_scalar(&mut self) -> Option<()> {
        self.skip_whitespace();
        match self.bytes.get(self.at)? {
            b'"' => self.read_string().map(drop),
            b'{' | b'[' => None,
            _ => {
                let rest = self.bytes.get(self.at..)?;
                self.at += rest.iter().take(MAX_HEAD_BYTES).position(|byte| matches!(byte, b',' | b'}'))?;
                Some(())
            }
        }
    }

    /// Returns whether a payload follows soon, usually immediately.
    fn has_payload(&self) -> bool {
        let rest = first_bytes(self.bytes.get(self.at..).unwrap_or_default());
        rest.starts_with(b"\"payload\"") || memchr::memmem::find(rest, b"\"payload\"").is_some()
    }
}

/// Returns whether records of this kind and payload type are known.
pub fn is_known(kind: &str, what: &str) -> bool {
    match kind {
        "session_meta"
        | "turn_context"
        | "token_usage_record"
        | "compacted"
        | "world_state"
        | "retained_context"
        | "security_risk_score"
        | "inter_agent_communication"
        | "inter_agent_communication_metadata"
        | "realtime_item"
        | "state" => true,
        "response_item" => ITEM_TYPES.contains(&what),
        "event_msg" => EVENT_TYPES.contains(&what),
        _ => false,
    }
}

const ITEM_TYPES: &[&str] = &[
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "web_search_call",
    "image_generation_call",
    "tool_search_call",
    "tool_search_output",
    "agent_message",
    "additional_tools",
    "ghost_snapshot",
    "compaction",
    "context_compaction",
];

const EVENT_TYPES: &[&str] = &[
    "token_count",
    "task_started",
    "turn_started",
    "task_complete",
    "turn_complete",
    "turn_aborted",
    "thread_settings_applied",
    "thread_rolled_back",
    "thread_goal_updated",
    "thread_name_updated",
    "item_completed",
    "user_message",
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "entered_review_mode",
    "exited_review_mode",
    "patch_apply_end",
    "mcp_tool_call_end",
    "exec_command_end",
    "web_search_end",
    "view_image_tool_call",
    "image_generation_end",
    "context_compacted",
    "sub_agent_activity",
    "error",
    "stream_error",
    "warning",
];

/// Returns whether the item is model output rather than model input.
pub fn is_model_output(what: &str, item: &JsonObject<'_>) -> bool {
    match what {
        "message" => item.str_equals("role", "assistant"),
        "reasoning"
        | "function_call"
        | "custom_tool_call"
        | "local_shell_call"
        | "tool_search_call"
        | "web_search_call"
        | "image_generation_call" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {

    use super::{RolloutRecord, parse_head, split_document};
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

    fn check_head(record: &str, kind: &str, what: Option<&str>) {
        let head = parse_head(record.as_bytes()).unwrap_or_else(|| panic!("{record}"));
        assert_eq!((head.kind, head.what), (kind.as_bytes(), what.map(str::as_bytes)), "{record}");
    }

    #[test]
    fn a_record_is_known_by_its_beginning() {
        check_head(
            r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":"#,
            "event_msg",
            Some("token_count"),
        );
        check_head(
            r#"{"timestamp":"t","ordinal":7,"type":"token_usage_record","payload":{"thread_id":1}}"#,
            "token_usage_record",
            None,
        );
        check_head(
            "{ \"timestamp\" : \"t\" ,\t\"type\": \"response_item\", \"payload\": { \"type\": \"message\"",
            "response_item",
            Some("message"),
        );
        check_head(
            r#"{"type":"event_msg","timestamp":"t","payload":{"type":"token_count"}}"#,
            "event_msg",
            Some("token_count"),
        );
        check_head(r#"{"type":"message","role":"user","content":[]}"#, "message", None);
    }

    #[test]
    fn what_begins_otherwise_is_left_open() {
        for record in ["", "{", "[]", r#"{"payload":{},"type":"event_msg"}"#, r#"{"id":"s","timestamp":"t"}"#, "\0\0\0"]
        {
            assert_eq!(parse_head(record.as_bytes()), None, "{record}");
        }
    }
}
