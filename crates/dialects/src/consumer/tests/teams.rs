//! Teams: what tool calls do in them.

use serde_json::{Value, json};

use super::{super::unified::Unified, message, reduced, written};

/// A call that does something in a team.
fn call(team_type: &str, id: &str, input: Value) -> Unified {
    let mut call = json!({"type": "tool_use", "id": id, "name": "some tool"});
    call["input"] = input;
    message("assistant", json!({"team_type": team_type}), Value::Array(vec![call]))
}

/// Its end.
fn ended(team_type: &str, id: &str, result: &str, is_error: bool) -> Unified {
    let content = json!([{"type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error}]);
    message("tool_use_summary", json!({"team_type": team_type, "tool_use_id": id, "is_error": is_error}), content)
}

/// A call that ends well.
fn both(team_type: &str, id: &str, input: Value, result: &str) -> [Unified; 2] {
    [call(team_type, id, input), ended(team_type, id, result, false)]
}

fn team(messages: &[Unified]) -> Value {
    written(&reduced(messages).team)
}

#[test]
fn a_team_is_made_and_ended() {
    let made = both("team_state_change", "1", json!({"team_name": "builders", "description": "d"}), "ok");
    let state = team(&made);
    assert_eq!([&state["name"], &state["role"]], ["builders", "lead"]);
    let ended = [made.as_slice(), &both("team_state_change", "2", json!({}), "ok")].concat();
    assert_eq!(team(&ended), Value::Null);
}

#[test]
fn only_what_ended_well_counts() {
    let input = json!({"team_name": "builders"});
    assert_eq!(team(&[call("team_state_change", "1", input.clone())]), Value::Null);
    let failed = [call("team_state_change", "1", input.clone()), ended("team_state_change", "1", "no", true)];
    assert_eq!(team(&failed), Value::Null);
    let words = r#"{"success":false,"message":"there is no carol"}"#;
    assert_eq!(team(&both("team_message", "1", json!({"to": "carol", "message": "hi"}), words)), Value::Null);
    let other = [call("team_state_change", "1", input), ended("team_state_change", "2", "ok", false)];
    assert_eq!(team(&other), Value::Null);
}

#[test]
fn members_work_and_rest() {
    let input =
        json!({"name": "bob", "subagent_type": "reviewer", "prompt": "look", "model": "small", "team_name": "t"});
    let begun = call("team_state_change", "1", input);
    let member = |status: &str| json!([{"name": "bob", "agentId": "1", "agentType": "reviewer", "status": status, "model": "small"}]);
    assert_eq!(team(std::slice::from_ref(&begun))["members"], member("active"));
    let done = ended("team_state_change", "1", "looked", false);
    assert_eq!(team(&[begun.clone(), done])["members"], member("idle"));
    let told = both("team_message", "2", json!({"to": "bob", "message": {"type": "shutdown_request"}}), "ok");
    assert_eq!(team(&[begun, told[0].clone(), told[1].clone()])["members"], member("shutdown"));
}

#[test]
fn tasks_are_made_and_changed() {
    let made = |id: &str, subject: &str, result: &str| {
        both("team_task_update", id, json!({"subject": subject, "description": "d"}), result)
    };
    let change = |id: &str, input: Value| both("team_task_update", id, input, "ok");
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
    let tasks = team(&messages)["tasks"].clone();
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
        both(
            "team_message",
            &number.to_string(),
            json!({"recipient": "bob", "content": "x".repeat(5000), "summary": "s"}),
            "ok",
        )
    };
    let all: Vec<_> = (0..80).flat_map(sent).collect();
    let messages = team(&all)["messages"].clone();
    let messages = messages.as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["id"], &messages[49]["id"]), (50, &json!("30"), &json!("79")));
    assert_eq!(messages[0]["text"].as_str().unwrap().len(), 1000);
    assert_eq!([&messages[0]["to"], &messages[0]["summary"]], ["bob", "s"]);
}

#[test]
fn calls_that_are_no_teams_work_are_not_looked_at() {
    let content = json!([{"type": "tool_use", "id": "1", "name": "some tool", "input": {"team_name": "builders"}}]);
    let end = ended("", "1", "ok", false);
    assert_eq!(team(&[message("assistant", json!({}), content), end]), Value::Null);
}
