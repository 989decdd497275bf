//! Codex.

use serde_json::json;

use super::{AgentCli, AgentCliPaths, AgentCliSetup, OneShotInvocation, ScriptedToolCall, to_strings};

pub const CLI: AgentCli = AgentCli {
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
    shell: |command| ScriptedToolCall { name: "exec_command", input: json!({ "cmd": command }) },
    write: |file, text| {
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        let patch = format!("*** Begin Patch\n*** Add File: {}\n{lines}*** End Patch\n", file.display());
        ScriptedToolCall { name: "apply_patch", input: json!(patch) }
    },
    // The model with direct tools has no subagents and asks only in plan mode.
    delegate: None,
    ask: Some(|question, choices| {
        let options: Vec<_> = choices.iter().map(|label| json!({ "label": label, "description": label })).collect();
        let question = json!({ "id": "choice", "header": "Choice", "question": question, "options": options });
        ScriptedToolCall { name: "request_user_input", input: json!({ "questions": [question] }) }
    }),
};

/// The model name decides about the tools: this one has direct tools, later ones expect JavaScript.
fn setup(places: &AgentCliPaths<'_>) -> AgentCliSetup {
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
    AgentCliSetup { files: vec![(places.home.join(".codex/config.toml"), config)], ..AgentCliSetup::default() }
}

fn one_shot(prompt: &str) -> OneShotInvocation {
    let args = to_strings(&["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", prompt]);
    OneShotInvocation { args, stdin: String::new() }
}
