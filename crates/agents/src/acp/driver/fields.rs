//! The messages that we send, as JSON.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use switchboard_event::raw;

use crate::{Answer, Json, Prompt};

/// What we call ourselves.
const NAME: &str = "switchboard";

/// A request.
pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A notification.
pub fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// An answer of ours. The agent's id goes back as it was written.
#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// The answer to a request of the agent.
pub fn answer(id: &RawValue, result: &Value) -> Box<RawValue> {
    raw(&Response { jsonrpc: "2.0", id, result: Some(result), error: None })
}

/// A request of the agent that is refused.
pub fn refusal(id: &RawValue, code: i32, message: &str) -> Box<RawValue> {
    let error = Some(json!({ "code": code, "message": message }));
    raw(&Response { jsonrpc: "2.0", id, result: None, error })
}

/// The parameters of `initialize`. Files and terminals of the host are not offered: the agent has its own, which are
/// where its sandbox is.
pub fn initialize() -> Value {
    json!({
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": { "readTextFile": false, "writeTextFile": false },
            "terminal": false,
            "session": { "configOptions": { "boolean": {} }, "notices": {}, "compaction": {} },
            "elicitation": { "form": {} },
        },
        "clientInfo": { "name": NAME, "title": "Switchboard", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// The blocks of a prompt.
pub fn blocks(prompt: &Prompt) -> Vec<Value> {
    let text = (!prompt.text.is_empty()).then(|| json!({ "type": "text", "text": prompt.text }));
    let image = |image: &crate::Image| json!({ "type": "image", "mimeType": image.media_type, "data": image.data });
    text.into_iter().chain(prompt.images.iter().map(image)).collect()
}

/// The request for permission is answered by one of its options. The protocol has no word for the reason: it is kept
/// where any message may have more, and no agent is known to look there.
pub fn selected(option: &str, answer: &Answer) -> Value {
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
    match (outcome, answer.message.as_deref().filter(|message| !message.is_empty())) {
        (Value::Object(mut fields), Some(message)) => {
            fields.insert("_meta".to_owned(), json!({ NAME: { "message": message } }));
            Value::Object(fields)
        }
        (outcome, _) => outcome,
    }
}

/// The request for permission is answered by the end of the turn.
pub fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// The reason in an answer of ours.
pub fn reason(result: Json<'_>) -> Option<String> {
    result.object().object("_meta").object(NAME).filled("message")
}
