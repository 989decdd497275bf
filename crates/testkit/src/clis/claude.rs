//! Claude Code.

use serde_json::json;

use super::{AgentCli, AgentCliPaths, AgentCliSetup, OneShotInvocation, ScriptedToolCall, to_strings};

pub const CLI: AgentCli = AgentCli {
    name: "claude",
    program: "claude",
    source: "claude",
    live: "claude",
    fake: Some("stream-json"),
    key: Some("ANTHROPIC_API_KEY"),
    setup,
    one_shot,
    gives_up: true,
    terse: false,
    other_model: "sonnet",
    thinks: true,
    compacts: true,
    diagnostics: None,
    clears: true,
    shell: |command| ScriptedToolCall {
        name: "Bash",
        input: json!({ "command": command, "description": "A command" }),
    },
    write: |file, text| ScriptedToolCall { name: "Write", input: json!({ "file_path": file, "content": text }) },
    delegate: Some(|prompt| ScriptedToolCall {
        name: "Agent",
        input: json!({ "description": "A task", "prompt": prompt, "subagent_type": "general-purpose",
            "run_in_background": false }),
    }),
    ask: Some(|question, choices| {
        let options: Vec<_> = choices.iter().map(|label| json!({ "label": label, "description": label })).collect();
        let question = json!({ "question": question, "header": "Choice", "multiSelect": false, "options": options });
        ScriptedToolCall { name: "AskUserQuestion", input: json!({ "questions": [question] }) }
    }),
};

/// `IS_SANDBOX` lets Claude Code skip permissions when it runs as root.
fn setup(places: &AgentCliPaths<'_>) -> AgentCliSetup {
    let variables = [
        ("ANTHROPIC_BASE_URL", places.model),
        ("ANTHROPIC_API_KEY", "scripted"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("IS_SANDBOX", "1"),
    ];
    AgentCliSetup {
        environment: variables.map(|(name, value)| (name, value.to_owned())).to_vec(),
        ..AgentCliSetup::default()
    }
}

fn one_shot(prompt: &str) -> OneShotInvocation {
    let flags = ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"];
    let args = to_strings(&[&flags[..], &["--dangerously-skip-permissions", prompt]].concat());
    OneShotInvocation { args, stdin: String::new() }
}
