//! Hand-written sessions and the unified events they produce.

use serde_json::{Value, json};

use super::DIALECT;
use crate::test_events::{in_subagent, item_finished, item_started, project_events, session_with_turn, text_appended};

/// Returns the text chunks of a turn: content, completeness, channel and retracted text.
fn text_chunks(inner: &[Value]) -> Value {
    let messages = project_events(&DIALECT, &session_with_turn(inner));
    let chunks = messages.iter().filter(|message| message["type"] == "textChunk");
    chunks.map(|chunk| json!([chunk["content"], chunk["isComplete"], chunk["channel"], chunk["retracted"]])).collect()
}

#[test]
fn text_that_was_taken_back_is_named() {
    let superseded =
        |text: &str| item_finished("a", json!({"type": "agent_message", "text": text, "status": "superseded"}));
    let message = [
        item_started("a", json!({"type": "agent_message", "text": ""})),
        text_appended("a", "text", "going the "),
        superseded("going the wrong way"),
    ];
    assert_eq!(text_chunks(&message), json!([["going the ", false, null, null], ["", true, null, "going the "]]));
    assert_eq!(
        text_chunks(&in_subagent("task", "thread", message)),
        json!([["going the ", false, "subagent", null], ["", true, "subagent", "going the "]])
    );
    let unsent = [item_started("a", json!({"type": "agent_message", "text": ""})), superseded("never sent")];
    assert_eq!(text_chunks(&unsent), json!([]));
    let thought = json!({"type": "reasoning", "text": "hm", "status": "superseded"});
    let reasoning = [
        item_started("r", json!({"type": "reasoning"})),
        text_appended("r", "text", "hm"),
        item_finished("r", thought),
    ];
    assert_eq!(text_chunks(&reasoning), json!([["hm", false, "reasoning", null], ["", true, "reasoning", "hm"]]));
}
