//! Gemini CLI.

use serde_json::json;

use super::{Cli, OneShot, Places, Setup, ToolCall, words};

pub const CLI: Cli = Cli {
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
    shell: |command| ToolCall { name: "run_shell_command", input: json!({ "command": command }) },
    write: |file, text| ToolCall { name: "write_file", input: json!({ "file_path": file, "content": text }) },
    delegate: None,
    ask: None,
};

/// The kind of key must be chosen: where a base URL is set, it would take one that it then refuses.
fn setup(places: &Places<'_>) -> Setup {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "general": { "enableAutoUpdate": false },
        "model": { "name": "gemini-2.5-flash" },
    });
    let variables = [("GOOGLE_GEMINI_BASE_URL", places.model), ("GEMINI_API_KEY", "scripted")];
    Setup {
        files: vec![(places.home.join(".gemini/settings.json"), settings.to_string())],
        environment: variables.map(|(name, value)| (name, value.to_owned())).to_vec(),
    }
}

fn one_shot(prompt: &str) -> OneShot {
    let args = words(&["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust", "-p", prompt]);
    OneShot { args, stdin: String::new() }
}
