//! `run --resume` of sessions that were begun without Switchboard: what cannot go on says why. That the others do is tried
//! with the real agents.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use crate::binary;

const SESSION: &str = "22222222-2222-4333-8444-555555555555";

/// A home with a session that worked in a folder.
fn home(cwd: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".claude/projects/-srv-it");
    fs::create_dir_all(&folder).unwrap();
    let record = json!({ "type": "user", "sessionId": SESSION, "cwd": cwd, "version": "2.1.197", "uuid": "u1",
        "parentUuid": null, "isSidechain": false, "timestamp": "2026-11-16T10:00:00.000Z",
        "message": { "role": "user", "content": "hello" } });
    fs::write(folder.join(format!("{SESSION}.jsonl")), format!("{record}\n")).unwrap();
    home
}

fn refused(home: &TempDir, args: &[&str]) -> String {
    let mut command = binary::command(&[&["run", "--resume"], args].concat());
    let data = home.path().join("data");
    command.env_clear().env("HOME", home.path()).env("PATH", "/nowhere").env("SWITCHBOARD_DATA", data);
    let output = command.output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_cannot_go_on_says_why() {
    let gone = home("/srv/not/there");
    let said = refused(&gone, &["nobody", "go on"]);
    assert!(said.contains("no session `nobody`") && said.contains("switchboard logs list"), "{said}");
    let said = refused(&gone, &["2222", "go on"]);
    assert!(said.contains("/srv/not/there") && said.contains("not there any more"), "{said}");
    let said = refused(&gone, &["2222", "codex", "go on"]);
    assert!(said.contains("is of claude, and codex cannot continue it"), "{said}");
}

#[test]
fn its_agent_and_folder_are_known() {
    let there = home("/");
    // Nothing is installed here: it came as far as that.
    let said = refused(&there, &["2222", "go on"]);
    assert!(said.contains("Claude Code is not installed"), "{said}");
    assert!(refused(&there, &["last", "go on"]).contains("no session"), "`last` is the last of ours");
}
