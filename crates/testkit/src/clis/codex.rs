//! Codex.

use serde_json::json;

use super::{Cli, OneShot, Places, Setup, ToolCall, words};

pub const CLI: Cli = Cli {
    name: "codex",
    program: "codex",
    source: "codex",
    live: "codex:app-server",
    fake: None,
    key: None,
    setup,
    one_shot,
    gives_up: true,
    terse: false,
    other_model: "gpt-5.6-sol",
    thinks: true,
    compacts: true,
    diagnostics: None,
    clears: false,
    shell: |command| ToolCall { name: "exec_command", input: json!({ "cmd": command }) },
    write: |file, text| {
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        let patch = format!("*** Begin Patch\n*** Add File: {}\n{lines}*** End Patch\n", file.display());
        ToolCall { name: "apply_patch", input: json!(patch) }
    },
    // With the model that has direct tools there are no subagents, and it asks in plan mode only.
    delegate: None,
    ask: Some(|question, choices| {
        let options: Vec<_> = choices.iter().map(|label| json!({ "label": label, "description": label })).collect();
        let question = json!({ "id": "choice", "header": "Choice", "question": question, "options": options });
        ToolCall { name: "request_user_input", input: json!({ "questions": [question] }) }
    }),
};

/// The model's name decides about the tools: this one has them directly, later ones want JavaScript.
fn setup(places: &Places<'_>) -> Setup {
    let config = format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
analytics.enabled = false
features.plugins = false
features.apps = false
[model_providers.scripted]
name = "scripted"
base_url = "{}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"#,
        places.model
    );
    Setup { files: vec![(places.home.join(".codex/config.toml"), config)], ..Setup::default() }
}

fn one_shot(prompt: &str) -> OneShot {
    let args = words(&["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", prompt]);
    OneShot { args, stdin: String::new() }
}
