//! Hand-written sessions and the unified events they produce.

use serde_json::{Value, json};
use switchboard_event::{Event, EventBody, Id, Notice, Timestamp};

use super::{DIALECT, SessionJson, TextChunk, UnifiedEvent, write_text_chunk};
use crate::MessageBuffer;
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

fn sample_event() -> Event {
    Event {
        seq: 7,
        session: Id::from("a \"quoted\" session"),
        at: Timestamp::parse("2026-11-15T10:00:00.5Z").unwrap(),
        agent: Id::from("any"),
        run: 1,
        turn: Some(1),
        item: None,
        parent: None,
        thread: None,
        body: EventBody::Notice(Box::<Notice>::default()),
        native: None,
        cause: None,
    }
}

#[test]
fn the_bytes_are_those_of_any_other_message() {
    let (event, mut session) = (sample_event(), SessionJson::default());
    for (content, is_complete, channel) in
        [("plain", false, None), ("\"\n\u{1}é", true, None), ("", true, Some("reasoning"))]
    {
        let (mut by_hand, mut derived) = (MessageBuffer::default(), MessageBuffer::default());
        write_text_chunk(&event, &TextChunk { content, is_complete, channel }, &mut session, &mut by_hand);
        let mut message = UnifiedEvent::new(&event, 0, "textChunk");
        (message.content, message.is_complete, message.channel) = (Some(content), Some(is_complete), channel);
        derived.push(&message);
        assert!(by_hand.iter().eq(derived.iter()));
    }
}
