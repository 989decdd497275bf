//! Sessions that Switchboard ran itself, in the views of logs: also those of agents that leave none.

use std::path::Path;

use serde_json::Value;

use crate::binary::command;

/// Runs the program in a home without logs, and gives what it printed.
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
