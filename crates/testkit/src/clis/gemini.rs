//! Gemini CLI.

use serde_json::json;

use super::{AgentCli, AgentCliPaths, AgentCliSetup, OneShotInvocation, ScriptedToolCall, to_strings};

pub const CLI: AgentCli = AgentCli {
    name: "gemini",
    program: "gemini",
    source: "gemini",
    live: "gemini:acp",
    fake: Some("acp"),
    key: Some("GEMINI_API_KEY"),
    setup,
    one_shot,
    gives_up: true,
    terse: true,
    other_model: "gemini-2.5-pro",
    thinks: false,
    compacts: false,
    diagnostics: None,
    clears: false,
    shell: |command| ScriptedToolCall { name: "run_shell_command", input: json!({ "command": command }) },
    write: |file, text| ScriptedToolCall { name: "write_file", input: json!({ "file_path": file, "content": text }) },
    delegate: None,
    ask: None,
};

/// The auth type must be selected: with a base URL, Gemini CLI would choose one that it then refuses.
fn setup(places: &AgentCliPaths<'_>) -> AgentCliSetup {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "general": { "enableAutoUpdate": false },
        "model": { "name": "gemini-2.5-flash" },
    });
    let variables = [("GOOGLE_GEMINI_BASE_URL", places.model), ("GEMINI_API_KEY", "scripted")];
    AgentCliSetup {
        files: vec![(places.home.join(".gemini/settings.json"), settings.to_string())],
        environment: variables.map(|(name, value)| (name, value.to_owned())).to_vec(),
    }
}

fn one_shot(prompt: &str) -> OneShotInvocation {
    let args = to_strings(&["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust", "-p", prompt]);
    OneShotInvocation { args, stdin: String::new() }
}
