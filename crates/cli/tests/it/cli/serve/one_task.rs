//! `POST /api/run` with a program in the place of a real agent's.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use super::rig::Served;

/// A run of Gemini CLI 0.61.0 in its one-shot form, in which a command prints something.
const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../agents/src/gemini/testdata/live/02-yolo-shell.jsonl");

#[test]
fn an_agent_whose_one_shot_form_tells_more_is_run_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("agent");
    // In its other form, it would have to be asked for its protocol first.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*--version*) echo 0.61.0;;\n*stream-json*) cat > /dev/null; cat '{RECORDING}';;\n*) exit 9;;\nesac\n"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let served = Served::with_agent("SWITCHBOARD_GEMINI", &program);
    let request = json!({ "driver": "gemini", "task": "go", "config": { "approvalMode": "autoAll" } });
    let (status, body) = served.ask("POST", "/api/run", Some(&request));
    assert_eq!(status, 200, "{body}");
    let messages: Vec<Value> =
        body.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    let results: Vec<_> = messages.iter().filter(|message| message["kind"] == "tool_result").collect();
    assert!(results.iter().any(|result| result["output"].to_string().contains("hello-from-shell")), "{body}");
    assert_eq!(messages.last().unwrap()["exit_code"], 0, "{body}");
}
