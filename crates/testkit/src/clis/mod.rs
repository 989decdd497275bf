//! The real agents as the stage must know them: how each is set up to use the scripted model, how it is started with
//! one prompt, and what its tools are called. One file each; the only place of the test kit that names them. Their
//! versions are pinned in `clis/package.json` of this crate.

mod claude;
mod codex;
mod gemini;
mod opencode;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// All of them.
pub const CLIS: &[Cli] = &[claude::CLI, codex::CLI, gemini::CLI, opencode::CLI];

/// A real agent.
pub struct Cli {
    /// The agent, as users of Switchboard call it.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The source that reads what it prints when it is started with one prompt.
    pub source: &'static str,
    /// The source that reads it when Switchboard runs it.
    pub live: &'static str,
    /// What a fake must speak to be put in its place, if one can.
    pub fake: Option<&'static str>,
    /// The variable with its key, if it cannot do without.
    pub key: Option<&'static str>,
    /// What it finds in its home and in its environment.
    pub setup: fn(&Places<'_>) -> Setup,
    /// How it is started with one prompt, everything allowed.
    pub one_shot: fn(&str) -> OneShot,
    /// It gives up soon when a connection breaks off, and does not try again for minutes.
    pub gives_up: bool,
    /// When Switchboard runs it, it does not tell what a command printed or how it ended, and of the cost only sums.
    pub terse: bool,
    /// Another model than the one that it is set up with, as it is offered.
    pub other_model: &'static str,
    /// How hard its model thinks can be chosen while it runs.
    pub thinks: bool,
    /// It has a command that makes the conversation shorter.
    pub compacts: bool,
    /// The directory in its home where it keeps diagnostic logs, if a failure may only be explained there.
    pub diagnostics: Option<&'static str>,
    /// It has a command `/clear` that begins another conversation.
    pub clears: bool,
    /// Runs a command.
    pub shell: fn(command: &str) -> ToolCall,
    /// Makes a file.
    pub write: fn(file: &Path, text: &str) -> ToolCall,
    /// Gives a task to a subagent, where it has some.
    pub delegate: Option<fn(prompt: &str) -> ToolCall>,
    /// Asks the user to choose, where it can.
    pub ask: Option<fn(question: &str, choices: &[&str]) -> ToolCall>,
}

/// Where things are, for an agent's setup.
pub struct Places<'a> {
    /// Its home.
    pub home: &'a Path,
    /// Where the scripted model listens.
    pub model: &'a str,
}

/// What an agent finds.
#[derive(Default)]
pub struct Setup {
    /// Files in its home.
    pub files: Vec<(PathBuf, String)>,
    /// Variables.
    pub environment: Vec<(&'static str, String)>,
}

/// How an agent is started with one prompt.
pub struct OneShot {
    /// Arguments.
    pub args: Vec<String>,
    /// What it reads.
    pub stdin: String,
}

/// A call of a tool: what the scripted model sends.
pub struct ToolCall {
    /// The tool.
    pub name: &'static str,
    /// What it is called with.
    pub input: Value,
}

/// A call is written into a prompt as the directive that makes the model send it.
impl std::fmt::Display for ToolCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[[tool {} {}]]", self.name, self.input)
    }
}

impl Cli {
    /// The directive that runs a command.
    #[must_use]
    pub fn shell(&self, command: &str) -> String {
        (self.shell)(command).to_string()
    }

    /// The directive that makes a file.
    #[must_use]
    pub fn write(&self, file: &Path, text: &str) -> String {
        (self.write)(file, text).to_string()
    }
}

/// Finds an agent by its name.
#[must_use]
pub fn cli(name: &str) -> Option<&'static Cli> {
    CLIS.iter().find(|cli| cli.name == name)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
