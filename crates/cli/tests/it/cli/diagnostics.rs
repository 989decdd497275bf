//! Diagnostics: off by default, on standard error only, and without anything secret.

use std::process::Output;

use serde_json::Value;

use crate::binary::command;

/// Runs a session of the built-in agent that waits for an approval that no client can give, with a prompt that is recognized.
fn run_session(options: &[&str], env: &[(&str, &str)]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let prompt = "text Hello.\napprove rm my-secret-file\ntext Done.";
    let mut command = command(&["run", "script", prompt, "--data", data.to_str().unwrap()]);
    command.args(options).envs(env.iter().copied()).current_dir(directory.path()).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn diagnostics_are_off_by_default_and_never_on_standard_output() {
    let silent = run_session(&[], &[]);
    let verbose = run_session(&["--log-level", "trace"], &[]);
    assert_eq!(silent.stdout, verbose.stdout);
    assert!(!stderr(&silent).contains("session started"), "{}", stderr(&silent));
    assert!(stderr(&verbose).contains("session started"), "{}", stderr(&verbose));
    assert!(!stderr(&verbose).contains('\u{1b}'));
}

#[test]
fn json_diagnostics_name_session_run_and_node_but_no_content() {
    let output = run_session(&["--log-format", "json"], &[("SWITCHBOARD_LOG", "debug")]);
    let lines: Vec<Value> = stderr(&output).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let decided = lines.iter().find(|line| line["fields"]["message"] == "request resolved").unwrap();
    let span = &decided["span"];
    assert_eq!(span["name"], "session");
    assert_eq!((&span["run"], &span["agent"]), (&Value::from(1), &Value::from("script")));
    assert!(span["session"].is_string() && span["node"].is_string(), "{span}");
    assert_eq!(decided["level"], "DEBUG");
    let all = Value::from(lines).to_string();
    for content in ["Hello", "my-secret-file"] {
        assert!(!all.contains(content), "{all}");
    }
}

#[test]
fn a_level_filters_and_a_wrong_one_is_an_error() {
    let output = run_session(&["--log-level", "error"], &[("SWITCHBOARD_LOG", "trace")]);
    assert!(!stderr(&output).contains("session started"), "the option takes precedence");
    let output = run_session(&[], &[("SWITCHBOARD_LOG", "loud")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("SWITCHBOARD_LOG"), "{}", stderr(&output));
}
