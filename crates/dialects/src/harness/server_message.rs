//! Harness messages on the server: builds the server's own responses and notifications, classifies messages of the
//! projection, and rewrites them for a connection (marks of replayed ones, request IDs).

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{Id, Level, Origin, Topic, to_raw_json};

use super::HarnessRequestId;
use super::notifications::HarnessRequestKind;
use super::wire::{NoticeParams, Notification, ReplayCompleted, RpcError, Thread, ThreadStarted};

/// The beginnings of all messages that the projection writes.
const REQUEST_PREFIX: &[u8] = b"{\"id\":";

const NOTIFICATION_PREFIX: &[u8] = b"{\"method\":\"";

#[derive(Serialize)]
struct RpcResultMessage<'a, T> {
    id: &'a HarnessRequestId,
    result: T,
}

#[derive(Serialize)]
struct RpcErrorMessage<'a> {
    /// `null` if the request id could not be read.
    id: Option<&'a HarnessRequestId>,
    error: &'a RpcError,
}

/// Builds the result response of a request.
#[must_use]
pub fn result_response(id: &HarnessRequestId, result: impl Serialize) -> Vec<u8> {
    to_json_bytes(&RpcResultMessage { id, result })
}

/// Builds the error response of a request.
#[must_use]
pub fn error_response(id: Option<&HarnessRequestId>, error: &RpcError) -> Vec<u8> {
    to_json_bytes(&RpcErrorMessage { id, error })
}

/// Builds the notification that a thread was created or resumed.
#[must_use]
pub fn thread_started(thread: Thread<'_>) -> Vec<u8> {
    to_json_bytes(&Notification::ThreadStarted(ThreadStarted { thread }))
}

/// Builds the notification that the history of a thread is complete.
#[must_use]
pub fn replay_completed(thread_id: &str) -> Vec<u8> {
    to_json_bytes(&Notification::ReplayCompleted(ReplayCompleted { thread_id }))
}

/// Builds a warning about a client message that has no effect.
#[must_use]
pub fn warning_notice(thread_id: &str, text: &str) -> Vec<u8> {
    to_json_bytes(&Notification::Notice(NoticeParams {
        thread_id,
        turn_id: None,
        item_id: None,
        topic: Topic::Warning,
        level: Level::Warning,
        text: Some(text),
        name: None,
        status: None,
        error: None,
        detail: None,
    }))
}

fn to_json_bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}

/// What the server needs to know about a message.
#[derive(Debug)]
pub enum HarnessMessageKind<'a> {
    /// The thread has started, or its agent process was started again.
    ThreadStarted,
    /// A turn has started.
    TurnStarted {
        /// The turn id.
        id: String,
        /// The turn as it was sent.
        turn: &'a RawValue,
        /// What started the turn.
        origin: Origin,
    },
    /// A turn has ended.
    TurnCompleted,
    /// The agent waits for an answer.
    Request {
        /// The request id.
        id: Id,
        /// The kind of request.
        kind: HarnessRequestKind,
    },
    /// A request was resolved.
    RequestResolved {
        /// The request id.
        request: Id,
    },
    /// The thread info has changed.
    ThreadUpdated,
    /// The agent's process has ended.
    ThreadEnded,
    /// Any other message.
    Other,
}

/// Classifies a message. For the most frequent messages only the beginning is inspected.
#[must_use]
pub fn classify_message(message: &[u8]) -> HarnessMessageKind<'_> {
    if message.starts_with(REQUEST_PREFIX) {
        return parse_request(message).unwrap_or(HarnessMessageKind::Other);
    }
    let Some(rest) = message.strip_prefix(NOTIFICATION_PREFIX) else { return HarnessMessageKind::Other };
    let method = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
    match method {
        b"turn/started" => parse_turn_started(message).unwrap_or(HarnessMessageKind::Other),
        b"switchboard/requestResolved" => parse_request_resolved(message).unwrap_or(HarnessMessageKind::Other),
        b"turn/completed" => HarnessMessageKind::TurnCompleted,
        b"thread/started" => HarnessMessageKind::ThreadStarted,
        b"switchboard/threadUpdated" => HarnessMessageKind::ThreadUpdated,
        b"switchboard/threadEnded" => HarnessMessageKind::ThreadEnded,
        _ => HarnessMessageKind::Other,
    }
}

fn parse_request(message: &[u8]) -> Option<HarnessMessageKind<'_>> {
    #[derive(Deserialize)]
    struct RequestHeader<'a> {
        id: Id,
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    let RequestHeader { id, method } = parse_json(message)?;
    let kind =
        if method.ends_with("/requestApproval") { HarnessRequestKind::Approval } else { HarnessRequestKind::Other };
    Some(HarnessMessageKind::Request { id, kind })
}

#[derive(Deserialize)]
struct MessageParams<T> {
    params: T,
}

fn parse_turn_started(message: &[u8]) -> Option<HarnessMessageKind<'_>> {
    #[derive(Deserialize)]
    struct TurnStartedParams<'a> {
        #[serde(borrow)]
        turn: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct TurnHeader {
        id: String,
        #[serde(rename = "_meta")]
        meta: TurnHeaderMeta,
    }
    #[derive(Deserialize)]
    struct TurnHeaderMeta {
        #[serde(default)]
        origin: Origin,
    }
    let MessageParams { params: TurnStartedParams { turn } } = parse_json(message)?;
    let TurnHeader { id, meta } = serde_json::from_str(turn.get()).ok()?;
    Some(HarnessMessageKind::TurnStarted { id, turn, origin: meta.origin })
}

fn parse_request_resolved(message: &[u8]) -> Option<HarnessMessageKind<'_>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ResolvedParams {
        request_id: Id,
    }
    let MessageParams { params: ResolvedParams { request_id } } = parse_json(message)?;
    Some(HarnessMessageKind::RequestResolved { request: request_id })
}

fn parse_json<'a, T: Deserialize<'a>>(message: &'a [u8]) -> Option<T> {
    serde_json::from_slice(message).ok()
}

/// The fields of an object, verbatim.
type RawFieldMap = BTreeMap<String, Box<RawValue>>;

/// Marks a message as history with `_meta.replay` in its parameters.
#[must_use]
pub fn mark_replayed(message: &[u8]) -> Vec<u8> {
    edit_params(message, |params| {
        let mut meta: RawFieldMap =
            params.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default();
        meta.insert("replay".to_owned(), to_raw_json(&true));
        params.insert("_meta".to_owned(), to_raw_json(&meta));
    })
}

/// Replaces the request id in a notification, for a request that has another id on this connection.
#[must_use]
pub fn with_request_id(message: &[u8], id: &str) -> Vec<u8> {
    edit_params(message, |params| drop(params.insert("requestId".to_owned(), to_raw_json(id))))
}

/// Replaces the id of a request, for a connection on which the id is already in use.
#[must_use]
pub fn with_message_id(message: &[u8], id: &str) -> Vec<u8> {
    let Ok(mut fields) = serde_json::from_slice::<RawFieldMap>(message) else { return message.to_owned() };
    fields.insert("id".to_owned(), to_raw_json(id));
    to_raw_json(&fields).get().as_bytes().to_owned()
}

fn edit_params(message: &[u8], change: impl FnOnce(&mut RawFieldMap)) -> Vec<u8> {
    let changed = || {
        let mut fields: RawFieldMap = serde_json::from_slice(message).ok()?;
        let mut params: RawFieldMap = serde_json::from_str(fields.get("params")?.get()).ok()?;
        change(&mut params);
        fields.insert("params".to_owned(), to_raw_json(&params));
        Some(to_raw_json(&fields).get().as_bytes().to_owned())
    };
    // Every projected message has parameters; if one has not, it is better sent unchanged than lost.
    changed().unwrap_or_else(|| message.to_owned())
}

/// Rewrites a thread start as a thread update: a connection sees each thread start once.
#[must_use]
pub fn thread_started_to_updated(message: &[u8]) -> Vec<u8> {
    let updated = || {
        let MessageParams { params: ThreadStartedParams { thread } } = parse_json(message)?;
        let StartedThread { id, model_provider, meta } = thread;
        let StartedMeta { agent_session, run, resumed, info } = meta;
        let meta = ThreadUpdateMeta { agent_session, run, resumed, model_provider };
        let params = ThreadUpdateParams { thread_id: id, info, meta };
        serde_json::to_vec(&ThreadUpdateMessage { method: "switchboard/threadUpdated", params }).ok()
    };
    updated().unwrap_or_else(|| message.to_owned())
}

#[derive(Deserialize)]
struct ThreadStartedParams {
    thread: StartedThread,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartedThread {
    id: Id,
    model_provider: String,
    #[serde(rename = "_meta")]
    meta: StartedMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartedMeta {
    agent_session: Option<Id>,
    run: u32,
    resumed: Option<Box<RawValue>>,
    info: Box<RawValue>,
}

#[derive(Serialize)]
struct ThreadUpdateMessage {
    method: &'static str,
    params: ThreadUpdateParams,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThreadUpdateParams {
    thread_id: Id,
    info: Box<RawValue>,
    #[serde(rename = "_meta")]
    meta: ThreadUpdateMeta,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThreadUpdateMeta {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_session: Option<Id>,
    run: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed: Option<Box<RawValue>>,
    model_provider: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{MessageBuffer, harness::DIALECT, test_sessions::full_sample_session};

    #[test]
    fn projected_messages_are_classified() {
        let (mut projection, mut out) = ((DIALECT.projection)(), MessageBuffer::default());
        full_sample_session().events.iter().for_each(|event| projection.project_event(event, &mut out));
        let mut seen = [0_usize; 8];
        for message in out.iter() {
            let value: Value = serde_json::from_slice(message).unwrap();
            let (index, method) = match classify_message(message) {
                HarnessMessageKind::ThreadStarted => (0, "thread/started"),
                HarnessMessageKind::TurnStarted { id, .. } => {
                    assert_eq!(value["params"]["turn"]["id"], id);
                    (1, "turn/started")
                }
                HarnessMessageKind::TurnCompleted => (2, "turn/completed"),
                HarnessMessageKind::Request { id, kind } => {
                    assert_eq!(value["id"], *id);
                    assert_eq!(kind == HarnessRequestKind::Other, value["method"] == "switchboard/request");
                    (3, value["method"].as_str().unwrap())
                }
                HarnessMessageKind::RequestResolved { request } => {
                    assert_eq!(value["params"]["requestId"], *request);
                    (4, "switchboard/requestResolved")
                }
                HarnessMessageKind::ThreadUpdated => (5, "switchboard/threadUpdated"),
                HarnessMessageKind::ThreadEnded => (6, "switchboard/threadEnded"),
                HarnessMessageKind::Other => (7, value["method"].as_str().unwrap()),
            };
            assert_eq!(value["method"], method);
            seen[index] += 1;
        }
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    }

    fn parse_value(message: &[u8]) -> Value {
        serde_json::from_slice(message).unwrap()
    }

    #[test]
    fn history_is_marked_and_nothing_else_of_it_changes() {
        let (mut projection, mut out) = ((DIALECT.projection)(), MessageBuffer::default());
        full_sample_session().events.iter().for_each(|event| projection.project_event(event, &mut out));
        for message in out.iter() {
            let mut marked = parse_value(&mark_replayed(message));
            let meta = marked["params"]["_meta"].as_object_mut().unwrap();
            assert_eq!(meta.remove("replay"), Some(json!(true)));
            if meta.is_empty() {
                marked["params"].as_object_mut().unwrap().remove("_meta");
            }
            assert_eq!(marked, parse_value(message));
        }
    }

    #[test]
    fn numbers_are_preserved_verbatim() {
        let message = br#"{"method":"m","params":{"big":123456789012345678901234567890,"_meta":{"n":1.10}}}"#;
        let marked = String::from_utf8(mark_replayed(message)).unwrap();
        assert!(marked.contains("123456789012345678901234567890") && marked.contains(r#""n":1.10"#), "{marked}");
    }

    #[test]
    fn thread_started_becomes_thread_updated() {
        let (mut projection, mut out) = ((DIALECT.projection)(), MessageBuffer::default());
        let events = crate::test_sessions::SampleSession::new_started().events;
        events.iter().for_each(|event| projection.project_event(event, &mut out));
        let update = parse_value(&thread_started_to_updated(out.iter().next().unwrap()));
        assert_eq!(
            update,
            json!({"method": "switchboard/threadUpdated", "params": {
                "threadId": "s", "info": {"cwd": "/repo", "model": "m-1", "modelProvider": "acme"},
                "_meta": {"run": 1, "modelProvider": "acme"}}})
        );
    }

    #[test]
    fn request_ids_are_replaced() {
        let asked = with_message_id(br#"{"id":"r1","method":"m","params":{"x":1}}"#, "r1@t");
        assert_eq!(parse_value(&asked), json!({"id": "r1@t", "method": "m", "params": {"x": 1}}));
        let resolved = with_request_id(br#"{"method":"m","params":{"requestId":"r1"}}"#, "r1@t");
        assert_eq!(parse_value(&resolved), json!({"method": "m", "params": {"requestId": "r1@t"}}));
    }
}
