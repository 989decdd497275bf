//! The real agents as the stage needs to know them: setup for the scripted model, one-shot invocation, and tool names.
//! One file per agent; the only place of the test kit that names them. Their versions are pinned in `clis/package.json`
//! of this crate.

mod claude;
mod codex;
mod gemini;
mod opencode;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub const AGENT_CLIS: &[AgentCli] = &[claude::CLI, codex::CLI, gemini::CLI, opencode::CLI];

pub struct AgentCli {
    /// The agent's name in Switchboard.
    pub name: &'static str,
    pub program: &'static str,
    /// The source that parses its one-shot output.
    pub source: &'static str,
    /// The source that parses its output under Switchboard.
    pub live: &'static str,
    /// The protocol of a fake that can replace it.
    pub fake: Option<&'static str>,
    /// The variable of its API key, if it requires one.
    pub key: Option<&'static str>,
    /// Its files and environment variables.
    pub setup: fn(&AgentCliPaths<'_>) -> AgentCliSetup,
    /// Its invocation with one prompt and all permissions.
    pub one_shot: fn(&str) -> OneShotInvocation,
    /// It gives up soon after a broken connection instead of retrying for minutes.
    pub gives_up: bool,
    /// Under Switchboard, it does not report output and exit codes of commands, and only sums of the cost.
    pub terse: bool,
    /// A model other than the configured one, as offered by the agent.
    pub other_model: &'static str,
    /// The reasoning effort can be changed while it runs.
    pub thinks: bool,
    /// It has a command that compacts the conversation.
    pub compacts: bool,
    /// The directory in its home with diagnostic logs, if a failure may only be explained there.
    pub diagnostics: Option<&'static str>,
    /// It has a command `/clear` that starts a new conversation.
    pub clears: bool,
    pub shell: fn(command: &str) -> ScriptedToolCall,
    pub write: fn(file: &Path, text: &str) -> ScriptedToolCall,
    /// Delegates to a subagent, if it has them.
    pub delegate: Option<fn(prompt: &str) -> ScriptedToolCall>,
    /// Asks the user to choose, if it can.
    pub ask: Option<fn(question: &str, choices: &[&str]) -> ScriptedToolCall>,
}

pub struct AgentCliPaths<'a> {
    pub home: &'a Path,
    /// The base URL of the scripted model.
    pub model: &'a str,
}

#[derive(Default)]
pub struct AgentCliSetup {
    pub files: Vec<(PathBuf, String)>,
    pub environment: Vec<(&'static str, String)>,
}

pub struct OneShotInvocation {
    pub args: Vec<String>,
    pub stdin: String,
}

/// A tool call that the scripted model sends.
pub struct ScriptedToolCall {
    pub name: &'static str,
    pub input: Value,
}

/// Formats the call as the directive that makes the model send it.
impl std::fmt::Display for ScriptedToolCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[[tool {} {}]]", self.name, self.input)
    }
}

impl AgentCli {
    /// Returns the directive that runs a command.
    #[must_use]
    pub fn shell_directive(&self, command: &str) -> String {
        (self.shell)(command).to_string()
    }

    /// Returns the directive that writes a file.
    #[must_use]
    pub fn write_directive(&self, file: &Path, text: &str) -> String {
        (self.write)(file, text).to_string()
    }
}

#[must_use]
pub fn find_cli(name: &str) -> Option<&'static AgentCli> {
    AGENT_CLIS.iter().find(|cli| cli.name == name)
}

fn to_strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
