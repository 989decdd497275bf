//! Rewrites projected messages for a connection: marks history, sends a thread start only once, and keeps ids of open
//! requests unique. Everything else stays verbatim.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{Id, to_raw_json};

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
pub fn start_as_update(message: &[u8]) -> Vec<u8> {
    let updated = || {
        let ThreadStartedMessage { params: ThreadStartedParams { thread } } = serde_json::from_slice(message).ok()?;
        let StartedThread { id, model_provider, meta } = thread;
        let StartedMeta { agent_session, run, resumed, info } = meta;
        let meta = ThreadUpdateMeta { agent_session, run, resumed, model_provider };
        let params = ThreadUpdateParams { thread_id: id, info, meta };
        serde_json::to_vec(&ThreadUpdateMessage { method: "switchboard/threadUpdated", params }).ok()
    };
    updated().unwrap_or_else(|| message.to_owned())
}

#[derive(Deserialize)]
struct ThreadStartedMessage {
    params: ThreadStartedParams,
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
    fn verbatim_json_stays_so() {
        let message = br#"{"method":"m","params":{"big":123456789012345678901234567890,"_meta":{"n":1.10}}}"#;
        let marked = String::from_utf8(mark_replayed(message)).unwrap();
        assert!(marked.contains("123456789012345678901234567890") && marked.contains(r#""n":1.10"#), "{marked}");
    }

    #[test]
    fn a_start_is_told_as_an_update() {
        let (mut projection, mut out) = ((DIALECT.projection)(), MessageBuffer::default());
        let events = crate::test_sessions::SampleSession::new_started().events;
        events.iter().for_each(|event| projection.project_event(event, &mut out));
        let update = parse_value(&start_as_update(out.iter().next().unwrap()));
        assert_eq!(
            update,
            json!({"method": "switchboard/threadUpdated", "params": {
                "threadId": "s", "info": {"cwd": "/repo", "model": "m-1", "modelProvider": "acme"},
                "_meta": {"run": 1, "modelProvider": "acme"}}})
        );
    }

    #[test]
    fn ids_can_be_others() {
        let asked = with_message_id(br#"{"id":"r1","method":"m","params":{"x":1}}"#, "r1@t");
        assert_eq!(parse_value(&asked), json!({"id": "r1@t", "method": "m", "params": {"x": 1}}));
        let resolved = with_request_id(br#"{"method":"m","params":{"requestId":"r1"}}"#, "r1@t");
        assert_eq!(parse_value(&resolved), json!({"method": "m", "params": {"requestId": "r1@t"}}));
    }
}
