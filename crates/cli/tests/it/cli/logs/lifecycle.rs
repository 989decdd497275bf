//! Logs of running sessions, logs that the agent has deleted, and sessions that Switchboard ran itself.

use std::{
    fs::{
        File, {self},
    },
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::{TestLog, TestMachine, two};
use crate::binary::command;

const ID: &str = "99999999-1111-4111-8111-111111111111";

const KEPT_ID: &str = "11111111-1111-4111-8111-111111111111";

/// A session whose tool call has no result yet.
fn at_work() -> TestLog {
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cargo test"}});
    let message = json!({
        "id": "msg_9", "role": "assistant", "type": "message", "model": "claude-sonnet-4-5", "content": [call],
        "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    TestLog::new(ID).asks("one").says("done").asks("two").record(json!({"type": "assistant", "message": message}))
}

#[test]
fn what_is_not_over_has_not_failed() {
    let machine = TestMachine::with(&[at_work()]);
    let shown = machine.logs(&["show", ID]).ok();
    assert!(shown.ends_with("$ cargo test\n\n… still running\n"), "{shown}");
    assert!(!shown.contains('✗') && !shown.contains("failed"), "{shown}");
    let first = machine.logs(&["show", ID, "-n", "1"]).ok();
    assert!(first.contains("done") && !first.contains("still running"), "{first}");
}

#[test]
fn what_ended_long_ago_in_the_middle_was_cut_off() {
    let machine = TestMachine::with(&[at_work()]);
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    File::options().write(true).open(machine.path(ID)).unwrap().set_modified(old).unwrap();
    let shown = machine.logs(&["show", ID]).ok();
    assert!(shown.contains("✗") && !shown.contains("still running"), "{shown}");
}

#[test]
fn what_waits_for_a_prompt_is_over() {
    let machine = TestMachine::with(&[TestLog::new(ID).asks("one").says("done")]);
    let shown = machine.logs(&["show", ID]).ok();
    assert!(!shown.contains("still running") && !shown.contains('✗'), "{shown}");
}

#[test]
fn a_turn_took_as_long_as_its_conversation() {
    let later = json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-11-01T17:00:00.000Z"});
    let log = TestLog::new(ID).asks("one").says("done").record(later).asks("two").says("done again");
    let machine = TestMachine::with(&[log]);
    let shown = machine.logs(&["show", ID, "-n", "1"]).ok();
    assert!(shown.ends_with(" · 1 m 00 s\n"), "{shown}");
}

#[test]
fn text_stays_after_the_log_is_gone() {
    let machine = TestMachine::with(&two());
    machine.logs(&["scan"]).ok();
    fs::remove_file(machine.path(KEPT_ID)).unwrap();
    let ran = machine.logs(&["show", KEPT_ID]);
    assert!(ran.stdout.contains("[gone]") && ran.stdout.contains("The **parser** was off by one."), "{}", ran.stdout);
    assert!(ran.stdout.contains("── turn 2") && ran.stdout.contains("test parser ... FAILED"), "{}", ran.stdout);
    assert!(ran.stderr.contains("has deleted this log"), "{}", ran.stderr);
    assert!(machine.logs(&["list"]).ok().contains("[gone] please fix"));
    assert_eq!(machine.objects(&["search", "off by one", "--json"]).len(), 1);
    let trace = machine.objects(&["export", KEPT_ID]);
    assert!(trace.iter().any(|line| line["text"] == "The lexer is fine."));
    // A rebuild keeps what is known of deleted logs.
    machine.logs(&["scan", "--rebuild"]).ok();
    assert_eq!(machine.objects(&["list", "--json"]).len(), 2);
    assert_eq!(machine.objects(&["search", "off by one", "--json"]).len(), 1);
}

#[test]
fn records_stay_if_they_are_to_be_kept() {
    let machine = TestMachine::with(&two());
    let written = fs::read_to_string(machine.path(KEPT_ID)).unwrap();
    machine.logs(&["scan", "--keep"]).ok();
    // A rebuild keeps the copies.
    machine.logs(&["scan", "--rebuild"]).ok();
    fs::remove_file(machine.path(KEPT_ID)).unwrap();
    let events = machine.objects(&["show", KEPT_ID, "--json"]);
    let records: Vec<String> = events.iter().filter_map(|event| event.get("native")).map(ToString::to_string).collect();
    assert_eq!(records, written.lines().collect::<Vec<_>>());
}

#[test]
fn a_scan_says_what_it_came_to() {
    let machine = TestMachine::with(&two());
    let first = &machine.objects(&["scan", "--json"])[0];
    assert_eq!((&first["files"], &first["read"], &first["troubles"]), (&2.into(), &2.into(), &0.into()));
    let again = &machine.objects(&["scan", "--json"])[0];
    assert_eq!((&again["files"], &again["read"], &again["bytes"]), (&2.into(), &0.into(), &0.into()));
    let anew = &machine.objects(&["scan", "--rebuild", "--json"])[0];
    assert_eq!((&anew["read"], &anew["bytes"]), (&2.into(), &first["bytes"]));
    assert!(machine.logs(&["scan"]).ok().starts_with("2 logs · 0 read"));
}

#[test]
fn another_home_is_another_answer() {
    let (machine, other) = (TestMachine::with(&two()), TestMachine::with(&two()[1..]));
    machine.logs(&["scan"]).ok();
    let [home, data] = [other.out("home"), machine.out("data")].map(|path| path.to_str().unwrap().to_owned());
    let list = |args: &[&str]| {
        let ran = crate::binary::run(&[&["logs", "list", "--json", "--data", &data], args].concat(), b"");
        ran.ok().lines().count()
    };
    assert_eq!(list(&["--home", &home, "--as", "laptop"]), 1);
    assert_eq!(list(&["--home", machine.out("home").to_str().unwrap()]), 2);
}

/// Runs the program in a home without logs, and returns its output.
fn printed(folder: &Path, args: &[&str]) -> String {
    let mut command = command(args);
    command.arg("--data").arg(folder.join("data")).env("HOME", folder.join("home"));
    for name in
        ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_DATA_DIR", "OPENCODE_DATA_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]
    {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_session_without_a_log_of_its_agent_is_listed_found_shown_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let with = |args: &[&str]| printed(folder.path(), args);
    with(&["run", "script", "think about the quokka\ntext the needle of the haystack"]);
    let listed = with(&["logs", "list", "--json", "--agent", "script"]);
    let sessions: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(sessions.len(), 1, "{listed}");
    let session = sessions[0]["session"].as_str().or(sessions[0]["id"].as_str()).unwrap().to_owned();

    let hits = with(&["logs", "search", "needle", "--json", "--agent", "script", "--in", "assistant"]);
    let hit: Value = serde_json::from_str(hits.lines().next().unwrap()).unwrap();
    assert_eq!((&hit["session"], &hit["eventType"]), (&sessions[0]["id"], &"assistant_message".into()), "{hits}");
    let shown = with(&["logs", "show", &session]);
    assert!(shown.contains("the needle of the haystack") && shown.contains("quokka"), "{shown}");

    with(&["sessions", "delete", "last"]);
    assert_eq!(with(&["logs", "list", "--json", "--agent", "script"]), "");
}
