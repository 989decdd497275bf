//! The reducer and the differ.

use serde_json::{Value, json};

use super::{super::reduce::Reduced, State, message, one_of_each, reduced, written};

/// What a message changes of a state in which a run has begun.
fn check(kind: &str, metadata: Value, expected: &Value) {
    let begun = [message("session_init", json!({"session_id": "s", "agent": "some", "run": 1}), json!([]))];
    let before = reduced(&begun);
    let after = reduced(&[begun[0].clone(), message(kind, metadata, json!([]))]);
    assert_eq!(written(&before.difference(&after)), *expected, "{kind}");
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
        check(kind, metadata, &expected);
    }
}

#[test]
fn turns_add_up_once() {
    let turn = |input: u64, cost: f64| {
        let usage = json!({"input_tokens": input, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4, "total_tokens": input + 9});
        message("result", json!({"usage": usage, "cost_usd": cost, "duration_ms": input}), json!([]))
    };
    let state = reduced(&[turn(10, 0.5), turn(20, 0.25)]);
    assert_eq!((state.num_turns, state.total_cost_usd, state.last_duration_ms), (2, 0.75, Some(20)));
    let usage = written(&state.usage);
    assert_eq!(
        [&usage["input_tokens"], &usage["output_tokens"], &usage["total_tokens"]],
        [&json!(30), &json!(4), &json!(48)]
    );
    assert_eq!([&usage["cache_read_input_tokens"], &usage["cache_creation_input_tokens"]], [&json!(6), &json!(8)]);
}

#[test]
fn what_is_asked_is_pending_until_it_is_answered_or_the_run_ends() {
    let ask = |id: &str| message("permission_request", json!({"request_id": id, "tool_name": "t"}), json!([]));
    let answer = |id: &str| message("permission_response", json!({"request_id": id}), json!([]));
    let pending = |messages: &[_]| {
        reduced(messages).pending_permissions.iter().map(|one| one.request_id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(pending(&[ask("a"), ask("b"), ask("a")]), ["b", "a"]);
    assert_eq!(pending(&[ask("a"), ask("b"), answer("a"), answer("nobody")]), ["b"]);
    assert!(
        pending(&[ask("a"), message("session_lifecycle", json!({"subtype": "session_ended"}), json!([]))]).is_empty()
    );
    assert!(pending(&[ask("a"), message("session_init", json!({}), json!([]))]).is_empty());
}

#[test]
fn what_is_not_told_again_stays() {
    let first = json!({"session_id": "s", "model": "m", "cwd": "/repo", "tools": ["a"], "mcp": [{"name": "x"}], "agents": [{"name": "helper"}], "run": 1});
    let state = reduced(&[
        message("session_init", first, json!([])),
        message("session_init", json!({"session_id": "s", "model": "m-2", "run": 2}), json!([])),
    ]);
    let state = written(&state);
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
    let difference = with.difference(&without);
    assert_eq!(written(&difference), json!({"run": 2, "title": null}));
    assert_eq!(with.with(&difference), without);
    assert_eq!(without.with(&without.difference(&with)), with);
    assert!(with.difference(&with).is_empty());
}

#[test]
fn all_differences_together_lead_from_the_first_state_to_the_last() {
    // Every message behind every other: whatever the order, the differences add up.
    let all = one_of_each();
    for turn in 0..all.len() {
        let (mut now, mut told) = (Reduced::default(), State::default());
        for message in all.iter().cycle().skip(turn).step_by(turn + 1).take(3 * all.len()) {
            let before = now.state.clone();
            now = now.next(message);
            told = told.with(&before.difference(&now.state));
            assert_eq!(told, now.state);
        }
    }
}

#[test]
fn what_does_not_concern_the_state_does_not_change_it() {
    let mut reduced = Reduced::default();
    for message in one_of_each() {
        let before = reduced.clone();
        let concerns = reduced.concerns(&message);
        reduced.take(&message);
        assert!(concerns || reduced == before, "{:?}", message.kind);
    }
}
