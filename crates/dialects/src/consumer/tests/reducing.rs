//! Tests of the reducer and of state differences.

use serde_json::{Value, json};

use super::{super::reduce::StateReducer, State, parse_message, reduce_messages, sample_messages, to_json_value};

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
    let with = State { title: Some("T".to_owned()), run: 1, ..State::default() };
    let without = State { run: 2, ..State::default() };
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
        let (mut now, mut told) = (StateReducer::default(), State::default());
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
