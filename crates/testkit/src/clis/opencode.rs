//! OpenCode.

use serde_json::json;

use super::{AgentCli, AgentCliPaths, AgentCliSetup, OneShotInvocation, ScriptedToolCall, to_strings};

pub const CLI: AgentCli = AgentCli {
    name: "opencode",
    program: "opencode",
    source: "opencode:run",
    live: "opencode",
    fake: None,
    key: None,
    setup,
    one_shot,
    gives_up: false,
    terse: false,
    other_model: "scripted/other",
    thinks: true,
    compacts: false,
    diagnostics: Some(".local/share/opencode/log"),
    clears: false,
    shell: |command| ScriptedToolCall {
        name: "bash",
        input: json!({ "command": command, "description": "A command" }),
    },
    write: |file, text| ScriptedToolCall { name: "write", input: json!({ "filePath": file, "content": text }) },
    delegate: Some(|prompt| ScriptedToolCall {
        name: "task",
        input: json!({ "description": "A task", "prompt": prompt, "subagent_type": "general" }),
    }),
    ask: Some(|question, choices| {
        let options: Vec<_> = choices.iter().map(|label| json!({ "label": label, "description": label })).collect();
        let question = json!({ "question": question, "header": "Choice", "options": options });
        ScriptedToolCall { name: "question", input: json!({ "questions": [question] }) }
    }),
};

fn setup(places: &AgentCliPaths<'_>) -> AgentCliSetup {
    let model = json!({ "name": "Scripted", "reasoning": true, "tool_call": true, "attachment": true,
        "limit": { "context": 100_000, "output": 8_000 }, "cost": { "input": 1, "output": 2, "cache_read": 0.1 },
        "modalities": { "input": ["text", "image"], "output": ["text"] } });
    let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
        "options": { "baseURL": format!("{}/v1", places.model), "apiKey": "scripted" }, "models": { "model": model, "other": model } });
    let config = json!({ "autoupdate": false, "share": "disabled", "model": "scripted/model",
        "small_model": "scripted/model", "provider": { "scripted": provider } });
    // If these are missing, version 1.18 installs them from the npm registry when it starts.
    let (plugin, folder) = ("@opencode-ai/plugin", places.home.join(".config/opencode"));
    let dependencies = json!({ "dependencies": { plugin: "*" } });
    let lock = json!({ "lockfileVersion": 3, "packages": { "": dependencies } });
    let installed = json!({ "name": plugin, "version": "1.0.0" });
    let variables = ["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD"];
    AgentCliSetup {
        files: vec![
            (folder.join("opencode.json"), config.to_string()),
            (folder.join("package.json"), dependencies.to_string()),
            (folder.join("package-lock.json"), lock.to_string()),
            (folder.join("node_modules").join(plugin).join("package.json"), installed.to_string()),
        ],
        environment: variables.map(|name| (name, "1".to_owned())).to_vec(),
    }
}

/// A prompt among the arguments would reach the model in quotes.
fn one_shot(prompt: &str) -> OneShotInvocation {
    OneShotInvocation {
        args: to_strings(&["run", "--format", "json", "--auto", "--thinking"]),
        stdin: prompt.to_owned(),
    }
}
