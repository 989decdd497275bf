//! Tests of the reducer and of state differences.

use serde_json::{Value, json};

use super::{ConsumerState, parse_message, reduce_messages, sample_messages, to_json_value};
use crate::{
    MessageBuffer,
    consumer::{
        DIALECT, client_message_schema,
        reduce::StateReducer,
        restore_state,
        unified::{UnifiedMessage, VerbatimFields},
    },
    test_sessions::{SampleSession, full_sample_session},
};

/// Checks what a message changes in a state with a started run.
fn assert_change(kind: &str, metadata: Value, expected: &Value) {
    let begun = [parse_message("session_init", json!({"session_id": "s", "agent": "some", "run": 1}), json!([]))];
    let before = reduce_messages(&begun);
    let after = reduce_messages(&[begun[0].clone(), parse_message(kind, metadata, json!([]))]);
    assert_eq!(to_json_value(&before.difference_to(&after)), *expected, "{kind}");
}

#[test]
fn each_message_changes_what_it_is_about() {
    for (kind, metadata, expected) in [
        ("status_change", json!({"status": "running"}), json!({"status": "running"})),
        ("status_change", json!({"status": "compacting"}), json!({"status": "compacting", "is_compacting": true})),
        ("status_change", json!({"status": "novel"}), json!({})),
        (
            "status_change",
            json!({"status": "idle", "context": {"used": 50, "size": 200}}),
            json!({"context": {"used": 50, "size": 200}, "context_used_percent": 25.0}),
        ),
        (
            "status_change",
            json!({"status": "idle", "plan": [{"step": "one", "status": "pending"}]}),
            json!({"plan": [{"step": "one", "status": "pending"}]}),
        ),
        ("configuration_change", json!({"model": "m-2"}), json!({"model": "m-2"})),
        ("configuration_change", json!({"mode": "plan"}), json!({"permissionMode": "plan"})),
        ("configuration_change", json!({"title": "T"}), json!({"title": "T"})),
        (
            "configuration_change",
            json!({"commands": [{"name": "c", "description": "d"}]}),
            json!({"commands": [{"name": "c", "description": "d"}], "slash_commands": ["c"]}),
        ),
        (
            "control_response",
            json!({"slash_commands": ["a", "b"]}),
            json!({"commands": [{"name": "a"}, {"name": "b"}], "slash_commands": ["a", "b"]}),
        ),
        ("session_lifecycle", json!({"subtype": "session_ended"}), json!({"connected": false})),
        ("session_lifecycle", json!({"subtype": "message_removed"}), json!({})),
        ("stream_event", json!({"model": "other"}), json!({})),
        ("user_message", json!({"model": "other"}), json!({})),
        ("unknown", json!({"model": "other"}), json!({})),
    ] {
        assert_change(kind, metadata, &expected);
    }
}

#[test]
fn turns_add_up_once() {
    let turn = |input: u64, cost: f64| {
        let usage = json!({"input_tokens": input, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4, "total_tokens": input + 9});
        parse_message("result", json!({"usage": usage, "cost_usd": cost, "duration_ms": input}), json!([]))
    };
    let state = reduce_messages(&[turn(10, 0.5), turn(20, 0.25)]);
    assert_eq!((state.num_turns, state.total_cost_usd, state.last_duration_ms), (2, 0.75, Some(20)));
    let usage = to_json_value(&state.usage);
    assert_eq!(
        [&usage["input_tokens"], &usage["output_tokens"], &usage["total_tokens"]],
        [&json!(30), &json!(4), &json!(48)]
    );
    assert_eq!([&usage["cache_read_input_tokens"], &usage["cache_creation_input_tokens"]], [&json!(6), &json!(8)]);
}

#[test]
fn what_is_asked_is_pending_until_it_is_answered_or_the_run_ends() {
    let ask = |id: &str| parse_message("permission_request", json!({"request_id": id, "tool_name": "t"}), json!([]));
    let answer = |id: &str| parse_message("permission_response", json!({"request_id": id}), json!([]));
    let pending = |messages: &[_]| {
        reduce_messages(messages).pending_permissions.iter().map(|one| one.request_id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(pending(&[ask("a"), ask("b"), ask("a")]), ["b", "a"]);
    assert_eq!(pending(&[ask("a"), ask("b"), answer("a"), answer("nobody")]), ["b"]);
    assert!(
        pending(&[ask("a"), parse_message("session_lifecycle", json!({"subtype": "session_ended"}), json!([]))])
            .is_empty()
    );
    assert!(pending(&[ask("a"), parse_message("session_init", json!({}), json!([]))]).is_empty());
}

#[test]
fn what_is_not_told_again_stays() {
    let first = json!({"session_id": "s", "model": "m", "cwd": "/repo", "tools": ["a"], "mcp": [{"name": "x"}], "agents": [{"name": "helper"}], "run": 1});
    let state = reduce_messages(&[
        parse_message("session_init", first, json!([])),
        parse_message("session_init", json!({"session_id": "s", "model": "m-2", "run": 2}), json!([])),
    ]);
    let state = to_json_value(&state);
    assert_eq!(
        [&state["model"], &state["cwd"], &state["tools"], &state["agents"], &state["run"]],
        [&json!("m-2"), &json!("/repo"), &json!(["a"]), &json!(["helper"]), &json!(2)]
    );
    assert_eq!(state["mcp_servers"], json!([{"name": "x"}]));
}

#[test]
fn what_is_gone_is_null_and_differences_lead_to_the_later_state() {
    let with = ConsumerState { title: Some("T".to_owned()), run: 1, ..ConsumerState::default() };
    let without = ConsumerState { run: 2, ..ConsumerState::default() };
    let difference = with.difference_to(&without);
    assert_eq!(to_json_value(&difference), json!({"run": 2, "title": null}));
    assert_eq!(with.with_difference(&difference), without);
    assert_eq!(without.with_difference(&without.difference_to(&with)), with);
    assert!(with.difference_to(&with).is_empty());
}

#[test]
fn all_differences_together_lead_from_the_first_state_to_the_last() {
    // Differences must add up in any message order.
    let all = sample_messages();
    for turn in 0..all.len() {
        let (mut now, mut told) = (StateReducer::default(), ConsumerState::default());
        for message in all.iter().cycle().skip(turn).step_by(turn + 1).take(3 * all.len()) {
            let before = now.state.clone();
            now = now.with_message(message);
            told = told.with_difference(&before.difference_to(&now.state));
            assert_eq!(told, now.state);
        }
    }
}

#[test]
fn what_does_not_concern_the_state_does_not_change_it() {
    let mut reduced = StateReducer::default();
    for message in sample_messages() {
        let before = reduced.clone();
        let concerns = reduced.is_affected_by(&message);
        reduced.apply_message(&message);
        assert!(concerns || reduced == before, "{:?}", message.kind);
    }
}

/// Returns a message with a team tool call.
fn team_call(team_type: &str, id: &str, input: Value) -> UnifiedMessage {
    let mut call = json!({"type": "tool_use", "id": id, "name": "some tool"});
    call["input"] = input;
    parse_message("assistant", json!({"team_type": team_type}), Value::Array(vec![call]))
}

/// Returns the message that ends a call.
fn call_result(team_type: &str, id: &str, result: &str, is_error: bool) -> UnifiedMessage {
    let content = json!([{"type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error}]);
    parse_message("tool_use_summary", json!({"team_type": team_type, "tool_use_id": id, "is_error": is_error}), content)
}

/// Returns a call that succeeds.
fn completed_call(team_type: &str, id: &str, input: Value, result: &str) -> [UnifiedMessage; 2] {
    [team_call(team_type, id, input), call_result(team_type, id, result, false)]
}

fn reduced_team(messages: &[UnifiedMessage]) -> Value {
    to_json_value(&reduce_messages(messages).team)
}

#[test]
fn a_team_is_made_and_ended() {
    let made = completed_call("team_state_change", "1", json!({"team_name": "builders", "description": "d"}), "ok");
    let state = reduced_team(&made);
    assert_eq!([&state["name"], &state["role"]], ["builders", "lead"]);
    let ended = [made.as_slice(), &completed_call("team_state_change", "2", json!({}), "ok")].concat();
    assert_eq!(reduced_team(&ended), Value::Null);
}

#[test]
fn only_what_ended_well_counts() {
    let input = json!({"team_name": "builders"});
    assert_eq!(reduced_team(&[team_call("team_state_change", "1", input.clone())]), Value::Null);
    let failed =
        [team_call("team_state_change", "1", input.clone()), call_result("team_state_change", "1", "no", true)];
    assert_eq!(reduced_team(&failed), Value::Null);
    let words = r#"{"success":false,"message":"there is no carol"}"#;
    assert_eq!(
        reduced_team(&completed_call("team_message", "1", json!({"to": "carol", "message": "hi"}), words)),
        Value::Null
    );
    let other = [team_call("team_state_change", "1", input), call_result("team_state_change", "2", "ok", false)];
    assert_eq!(reduced_team(&other), Value::Null);
}

#[test]
fn members_work_and_rest() {
    let input =
        json!({"name": "bob", "subagent_type": "reviewer", "prompt": "look", "model": "small", "team_name": "t"});
    let begun = team_call("team_state_change", "1", input);
    let member = |status: &str| json!([{"name": "bob", "agentId": "1", "agentType": "reviewer", "status": status, "model": "small"}]);
    assert_eq!(reduced_team(std::slice::from_ref(&begun))["members"], member("active"));
    let done = call_result("team_state_change", "1", "looked", false);
    assert_eq!(reduced_team(&[begun.clone(), done])["members"], member("idle"));
    let told = completed_call("team_message", "2", json!({"to": "bob", "message": {"type": "shutdown_request"}}), "ok");
    assert_eq!(reduced_team(&[begun, told[0].clone(), told[1].clone()])["members"], member("shutdown"));
}

#[test]
fn tasks_are_made_and_changed() {
    let made = |id: &str, subject: &str, result: &str| {
        completed_call("team_task_update", id, json!({"subject": subject, "description": "d"}), result)
    };
    let change = |id: &str, input: Value| completed_call("team_task_update", id, input, "ok");
    let messages = [
        made("a", "First", "Task #1 created successfully: First"),
        made("b", "Second", r#"{"task":{"id":"2","subject":"Second"}}"#),
        made("c", "Third", "fine"),
        change("d", json!({"taskId": "1", "status": "in_progress", "owner": "bob", "activeForm": "Doing"})),
        change("e", json!({"taskId": "2", "addBlockedBy": ["1", "1"], "status": "deleted"})),
        change("f", json!({"taskId": "9", "status": "completed"})),
        change("g", json!({})),
    ]
    .concat();
    let tasks = reduced_team(&messages)["tasks"].clone();
    assert_eq!(
        tasks,
        json!([
            {"id": "1", "subject": "First", "description": "d", "status": "in_progress", "owner": "bob", "activeForm": "Doing", "blockedBy": [], "blocks": []},
            {"id": "2", "subject": "Second", "description": "d", "status": "deleted", "blockedBy": ["1"], "blocks": []},
            {"id": "c", "subject": "Third", "description": "d", "status": "pending", "blockedBy": [], "blocks": []},
        ])
    );
}

#[test]
fn messages_are_kept_for_a_while() {
    let sent = |number: usize| {
        completed_call(
            "team_message",
            &number.to_string(),
            json!({"recipient": "bob", "content": "x".repeat(5000), "summary": "s"}),
            "ok",
        )
    };
    let all: Vec<_> = (0..80).flat_map(sent).collect();
    let messages = reduced_team(&all)["messages"].clone();
    let messages = messages.as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["id"], &messages[49]["id"]), (50, &json!("30"), &json!("79")));
    assert_eq!(messages[0]["text"].as_str().unwrap().len(), 1000);
    assert_eq!([&messages[0]["to"], &messages[0]["summary"]], ["bob", "s"]);
}

#[test]
fn calls_that_are_no_teams_work_are_not_looked_at() {
    let content = json!([{"type": "tool_use", "id": "1", "name": "some tool", "input": {"team_name": "builders"}}]);
    let end = call_result("", "1", "ok", false);
    assert_eq!(reduced_team(&[parse_message("assistant", json!({}), content), end]), Value::Null);
}

fn message_types(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["type"].as_str().unwrap()).collect()
}

/// Returns the state of a consumer that received all messages.
fn followed_state(messages: &[Value]) -> ConsumerState {
    messages.iter().fold(ConsumerState::default(), |state, message| match message["type"].as_str().unwrap() {
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
