//! Effects of tool calls on teams.

use serde_json::{Value, json};

use super::{super::unified::UnifiedMessage, parse_message, reduce_messages, to_json_value};

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
