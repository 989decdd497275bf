//! Messages of the projection as a connection tells them: history is marked, a thread starts once, and no two open
//! requests have the same id. What is not touched stays verbatim.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{Id, raw};

/// The fields of an object, each as it came.
type Fields = BTreeMap<String, Box<RawValue>>;

/// The message with a mark that it is history: `_meta.replay` in its parameters.
#[must_use]
pub fn replayed(message: &[u8]) -> Vec<u8> {
    changed(message, |params| {
        let mut meta: Fields =
            params.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default();
        meta.insert("replay".to_owned(), raw(&true));
        params.insert("_meta".to_owned(), raw(&meta));
    })
}

/// The same about a request that has another id on this connection.
#[must_use]
pub fn resolved_as(message: &[u8], id: &str) -> Vec<u8> {
    changed(message, |params| drop(params.insert("requestId".to_owned(), raw(id))))
}

/// The same request under another id, for a connection on which another has that id.
#[must_use]
pub fn asked_as(message: &[u8], id: &str) -> Vec<u8> {
    let Ok(mut fields) = serde_json::from_slice::<Fields>(message) else { return message.to_owned() };
    fields.insert("id".to_owned(), raw(id));
    raw(&fields).get().as_bytes().to_owned()
}

fn changed(message: &[u8], change: impl FnOnce(&mut Fields)) -> Vec<u8> {
    let changed = || {
        let mut fields: Fields = serde_json::from_slice(message).ok()?;
        let mut params: Fields = serde_json::from_str(fields.get("params")?.get()).ok()?;
        change(&mut params);
        fields.insert("params".to_owned(), raw(&params));
        Some(raw(&fields).get().as_bytes().to_owned())
    };
    // All that we write is such; and if not, it is better told unchanged than not at all.
    changed().unwrap_or_else(|| message.to_owned())
}

/// That the agent's process is there, told as an update: on a connection, a thread starts once.
#[must_use]
pub fn updated(message: &[u8]) -> Vec<u8> {
    let updated = || {
        let Message { params: Started { thread } } = serde_json::from_slice(message).ok()?;
        let StartedThread { id, model_provider, meta } = thread;
        let StartedMeta { agent_session, run, resumed, info } = meta;
        let meta = UpdateMeta { agent_session, run, resumed, model_provider };
        let params = UpdateParams { thread_id: id, info, meta };
        serde_json::to_vec(&Update { method: "switchboard/threadUpdated", params }).ok()
    };
    updated().unwrap_or_else(|| message.to_owned())
}

#[derive(Deserialize)]
struct Message {
    params: Started,
}

#[derive(Deserialize)]
struct Started {
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
struct Update {
    method: &'static str,
    params: UpdateParams,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdateParams {
    thread_id: Id,
    info: Box<RawValue>,
    #[serde(rename = "_meta")]
    meta: UpdateMeta,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdateMeta {
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
    use crate::{Messages, harness::DIALECT, test_sessions::everything};

    fn value(message: &[u8]) -> Value {
        serde_json::from_slice(message).unwrap()
    }

    #[test]
    fn history_is_marked_and_nothing_else_of_it_changes() {
        let (mut projection, mut out) = ((DIALECT.projection)(), Messages::default());
        everything().events.iter().for_each(|event| projection.event(event, &mut out));
        for message in out.iter() {
            let mut marked = value(&replayed(message));
            let meta = marked["params"]["_meta"].as_object_mut().unwrap();
            assert_eq!(meta.remove("replay"), Some(json!(true)));
            if meta.is_empty() {
                marked["params"].as_object_mut().unwrap().remove("_meta");
            }
            assert_eq!(marked, value(message));
        }
    }

    #[test]
    fn verbatim_json_stays_so() {
        let message = br#"{"method":"m","params":{"big":123456789012345678901234567890,"_meta":{"n":1.10}}}"#;
        let marked = String::from_utf8(replayed(message)).unwrap();
        assert!(marked.contains("123456789012345678901234567890") && marked.contains(r#""n":1.10"#), "{marked}");
    }

    #[test]
    fn a_start_is_told_as_an_update() {
        let (mut projection, mut out) = ((DIALECT.projection)(), Messages::default());
        let events = crate::test_sessions::Samples::begun().events;
        events.iter().for_each(|event| projection.event(event, &mut out));
        let update = value(&updated(out.iter().next().unwrap()));
        assert_eq!(
            update,
            json!({"method": "switchboard/threadUpdated", "params": {
                "threadId": "s", "info": {"cwd": "/repo", "model": "m-1", "modelProvider": "acme"},
                "_meta": {"run": 1, "modelProvider": "acme"}}})
        );
    }

    #[test]
    fn ids_can_be_others() {
        let asked = asked_as(br#"{"id":"r1","method":"m","params":{"x":1}}"#, "r1@t");
        assert_eq!(value(&asked), json!({"id": "r1@t", "method": "m", "params": {"x": 1}}));
        let resolved = resolved_as(br#"{"method":"m","params":{"requestId":"r1"}}"#, "r1@t");
        assert_eq!(value(&resolved), json!({"method": "m", "params": {"requestId": "r1@t"}}));
    }
}
