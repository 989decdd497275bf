//! Sessions that are at work while they are shown.

use std::{
    fs::File,
    time::{Duration, SystemTime},
};

use serde_json::json;

use super::{Log, Machine};

const ID: &str = "99999999-1111-4111-8111-111111111111";

/// A session whose tool has not come back.
fn at_work() -> Log {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cargo test"}});
    let message = json!({
        "id": "msg_9", "role": "assistant", "type": "message", "model": "claude-sonnet-4-5", "content": [call],
        "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    Log::new(ID).asks("one").says("done").asks("two").record(json!({"type": "assistant", "message": message}))
}

#[test]
fn what_is_not_over_has_not_failed() {
    let machine = Machine::with(&[at_work()]);
    let shown = machine.logs(&["show", ID]).ok();
    assert!(shown.ends_with("$ cargo test\n\n… still running\n"), "{shown}");
    assert!(!shown.contains('✗') && !shown.contains("failed"), "{shown}");
    let first = machine.logs(&["show", ID, "-n", "1"]).ok();
    assert!(first.contains("done") && !first.contains("still running"), "{first}");
}

#[test]
fn what_ended_long_ago_in_the_middle_was_cut_off() {
    let machine = Machine::with(&[at_work()]);
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    File::options().write(true).open(machine.path(ID)).unwrap().set_modified(old).unwrap();
    let shown = machine.logs(&["show", ID]).ok();
    assert!(shown.contains("✗") && !shown.contains("still running"), "{shown}");
}

#[test]
fn what_waits_for_a_prompt_is_over() {
    let machine = Machine::with(&[Log::new(ID).asks("one").says("done")]);
    let shown = machine.logs(&["show", ID]).ok();
    assert!(!shown.contains("still running") && !shown.contains('✗'), "{shown}");
}

#[test]
fn a_turn_took_as_long_as_its_conversation() {
    let later = json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-11-01T17:00:00.000Z"});
    let log = Log::new(ID).asks("one").says("done").record(later).asks("two").says("done again");
    let machine = Machine::with(&[log]);
    let shown = machine.logs(&["show", ID, "-n", "1"]).ok();
    assert!(shown.ends_with(" · 1 m 00 s\n"), "{shown}");
}
