//! A complete session, from events to consumer messages.

use serde_json::{Value, json};

use super::{super::DIALECT, State};
use crate::{
    MessageBuffer,
    consumer::{client_message_schema, restore_state, unified::VerbatimFields},
    test_sessions::{SampleSession, full_sample_session},
};

fn message_types(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["type"].as_str().unwrap()).collect()
}

/// Returns the state of a consumer that received all messages.
fn followed_state(messages: &[Value]) -> State {
    messages.iter().fold(State::default(), |state, message| match message["type"].as_str().unwrap() {
        "session_init" => serde_json::from_value(message["session"].clone()).unwrap(),
        "session_update" => {
            state.with_difference(&serde_json::from_value::<VerbatimFields>(message["session"].clone()).unwrap())
        }
        _ => state,
    })
}

#[test]
fn everything_is_valid_and_numbered() {
    let messages = full_sample_session().project_to(&DIALECT);
    for (place, message) in messages.iter().enumerate() {
        assert_eq!(message["seq"], json!(place + 1));
        assert!(message["timestamp"].is_i64());
    }
}

#[test]
fn who_follows_knows_what_a_newcomer_is_told() {
    let samples = full_sample_session();
    let messages = samples.project_to(&DIALECT);
    let mut projection = (DIALECT.projection)();
    samples.events.iter().for_each(|event| projection.project_event(event, &mut MessageBuffer::default()));
    let told = restore_state(&projection.save().unwrap()).unwrap();
    assert_eq!(followed_state(&messages), told);
    assert_eq!((told.run, told.connected, told.num_turns), (2, false, 4));
}

#[test]
fn a_session_is_told_from_its_beginning_to_its_end() {
    let mut samples = SampleSession::in_turn();
    samples.start_item(
        "t",
        json!({"type": "tool", "output": "", "call": {"name": "t", "kind": "other", "input": {"a": 1}}}),
    );
    samples.add_item_event("t", "request.opened", json!({"request": "r", "about": "tool", "title": "May I?"}));
    samples.add_item_event("t", "request.resolved", json!({"request": "r", "outcome": "allowed", "by": "client"}));
    samples.end_item("t", json!({"type": "tool", "output": "out", "call": {"name": "t", "kind": "other"}}));
    samples.add_event("session.updated", json!({"info": {"title": "A title", "commands": [{"name": "c"}]}}));
    samples.end_turn(json!({"status": "completed", "stop": "end_turn"}));
    samples.add_event("session.ended", json!({"reason": "completed", "duration_ms": 1, "by": "agent"}));
    let messages = samples.project_to(&DIALECT);
    assert_eq!(
        message_types(&messages),
        [
            "session_init",
            "cli_connected",
            "status_change",
            "session_update",
            "tool_progress",
            "permission_request",
            "session_update",
            "status_change",
            "session_update",
            "permission_cancelled",
            "session_update",
            "status_change",
            "session_update",
            "tool_use_summary",
            "configuration_change",
            "session_name_update",
            "capabilities_ready",
            "session_update",
            "result",
            "session_update",
            "status_change",
            "session_update",
            "session_lifecycle",
            "cli_disconnected",
            "session_update",
        ]
    );
}

#[test]
fn the_schema_of_what_consumers_say_is_strict_where_it_matters() {
    let validator = jsonschema::validator_for(&client_message_schema()).unwrap();
    for (message, valid) in [
        (json!({"type": "user_message", "content": "x"}), true),
        (
            json!({"type": "permission_response", "request_id": "r", "behavior": "allow", "updated_input": {"a": 1}}),
            true,
        ),
        (json!({"type": "interrupt"}), true),
        (json!({"type": "permission_response", "request_id": "r"}), false),
        (json!({"type": "permission_response", "request_id": "r", "behavior": "perhaps"}), false),
        (json!({"type": "set_model"}), false),
        (json!({"type": "dance"}), false),
        (json!({}), false),
    ] {
        assert_eq!(validator.is_valid(&message), valid, "{message}");
    }
}

#[test]
fn the_schema_of_what_consumers_are_told_is_strict() {
    let validator = jsonschema::validator_for(&(DIALECT.schema)(&[])).unwrap();
    for (message, valid) in [
        (json!({"type": "permission_cancelled", "request_id": "r"}), true),
        (json!({"type": "session_update", "session": {"model": "m", "team": null}, "seq": 1}), true),
        (json!({"type": "session_update", "session": {"model": 7}}), false),
        (json!({"type": "stream_event", "event": {"type": "other"}, "parent_tool_use_id": null}), false),
        (json!({"type": "assistant", "message": {}, "parent_tool_use_id": null}), false),
        (json!({"type": "error", "message": "m"}), false),
        (json!({"type": "novelty"}), false),
    ] {
        assert_eq!(validator.is_valid(&message), valid, "{message}");
    }
}
