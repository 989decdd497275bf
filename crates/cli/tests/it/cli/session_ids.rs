//! Session IDs: short IDs are unique among the sessions of Switchboard and of agents, and `run --resume` never guesses. That
//! sessions which were started without Switchboard can be resumed is tested with the real agents.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary::{self, ProgramOutput};

const SESSION: &str = "22222222-2222-4333-8444-555555555555";

fn run(home: &TempDir, args: &[&str]) -> ProgramOutput {
    let mut command = binary::command(args);
    command.env_clear().env("HOME", home.path()).env("PATH", "/nowhere");
    let output = command.env("SWITCHBOARD_DATA", home.path().join("data")).output().unwrap();
    ProgramOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Leaves a session of an agent, as the agent would.
fn leave_log(home: &Path, id: &str) {
    let folder = home.join(".claude/projects/-srv-it");
    fs::create_dir_all(&folder).unwrap();
    let record = json!({ "type": "user", "sessionId": id, "cwd": "/", "version": "2.1.197", "uuid": "u1",
        "parentUuid": null, "isSidechain": false, "timestamp": "2026-11-16T10:00:00.000Z",
        "message": { "role": "user", "content": "hello" } });
    fs::write(folder.join(format!("{id}.jsonl")), format!("{record}\n")).unwrap();
}

/// The beginning of an id.
fn begin(id: &str, length: usize) -> &str {
    id.get(..length).unwrap()
}

/// The id of the only session of Switchboard.
fn own_id(home: &TempDir) -> String {
    let listed = run(home, &["sessions", "list", "--json"]).stdout;
    let session: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    session["id"].as_str().unwrap().to_owned()
}

/// A home with a session of Switchboard, and one of an agent whose id begins with the same characters.
fn twins(shared: usize) -> (TempDir, String, String) {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(run(&home, &["run", "echo", "hello"]).code, Some(0));
    let own = own_id(&home);
    // The last character of what is shared is followed by another one.
    let differs = |c: char| if c == 'f' { 'e' } else { 'f' };
    let (same, rest) = own.split_at(shared);
    let mut rest = rest.chars();
    let logged = format!("{same}{}{}", differs(rest.next().unwrap()), rest.as_str());
    leave_log(home.path(), &logged);
    (home, own, logged)
}

#[test]
fn a_prefix_that_means_two_sessions_resumes_none() {
    let (home, own, logged) = twins(9);
    let ran = run(&home, &["run", "--resume", begin(&own, 8), "go on"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(&own) && ran.stderr.contains(&logged), "{}", ran.stderr);
    // One character more, and it is clear.
    let ran = run(&home, &["run", "--resume", begin(&own, 10), "go on"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "go on"), "{}", ran.stderr);
    let ran = run(&home, &["run", "--resume", begin(&logged, 10), "go on"]);
    assert!(ran.stderr.contains("Claude Code is not installed"), "{}", ran.stderr);
    // Naming the agent says which is meant.
    let ran = run(&home, &["run", "echo", "--resume", begin(&own, 8), "go on"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn lists_show_as_much_of_an_id_as_is_needed() {
    let (home, own, logged) = twins(14);
    let listed = run(&home, &["logs", "list"]).stdout;
    assert!(listed.contains(begin(&logged, 15)), "{listed}");
    let listed = run(&home, &["sessions", "list"]).stdout;
    let shown = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(shown, begin(&own, 15), "{listed}");
}

#[test]
fn all_candidates_are_listed() {
    let home = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..30).map(|n| format!("22222222-2222-4333-8444-5555555555{n:02}")).collect();
    ids.iter().for_each(|id| leave_log(home.path(), id));
    for args in [&["run", "--resume", "2222", "go on"][..], &["logs", "show", "2222"]] {
        let ran = run(&home, args);
        assert_eq!(ran.code, Some(2));
        assert!(ids.iter().all(|id| ran.stderr.contains(id)), "{}", ran.stderr);
    }
}

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
    let said = refused(&gone, &["missing", "go on"]);
    assert!(said.contains("no session `missing`") && said.contains("switchboard logs list"), "{said}");
    let said = refused(&gone, &["2222", "go on"]);
    assert!(said.contains("/srv/not/there") && said.contains("does not exist"), "{said}");
    let said = refused(&gone, &["2222", "codex", "go on"]);
    assert!(said.contains("belongs to claude; codex cannot continue it"), "{said}");
}

#[test]
fn its_agent_and_folder_are_known() {
    let there = home("/");
    // Nothing is installed here: it came as far as that.
    let said = refused(&there, &["2222", "go on"]);
    assert!(said.contains("Claude Code is not installed"), "{said}");
    assert!(refused(&there, &["last", "go on"]).contains("no session"), "`last` is the last of ours");
}
