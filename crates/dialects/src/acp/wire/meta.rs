//! Switchboard's additions in `_meta`. The terminal keys are those that editors already support for other agents.

use schemars::JsonSchema;
use serde::Serialize;

/// What is said beside the protocol.
#[derive(Default, Serialize, JsonSchema)]
pub struct Meta<'a> {
    /// What only Switchboard says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switchboard: Option<Ours<'a>>,
    /// A command runs; what it prints follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_info: Option<TerminalInfo<'a>>,
    /// It printed more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_output: Option<TerminalOutput<'a>>,
    /// It ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_exit: Option<TerminalExit<'a>>,
}

impl<'a> Meta<'a> {
    /// Creates metadata with only Switchboard's own part.
    pub fn with_switchboard(ours: Ours<'a>) -> Self {
        Self { switchboard: Some(ours), ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.switchboard.is_none()
            && self.terminal_info.is_none()
            && self.terminal_output.is_none()
            && self.terminal_exit.is_none()
    }
}

/// What only Switchboard says.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ours<'a> {
    /// The subagent's own thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// The tool call under which the subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<&'a str>,
    /// What it is, where it is not the text of a message: a `plan`, or what the message has `beside` its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'static str>,
    /// The item of a subagent whose text this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<&'a str>,
    /// What a tool is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// How far it got, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// For how long it is going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

/// A command runs.
#[derive(Serialize, JsonSchema)]
pub struct TerminalInfo<'a> {
    /// The tool call.
    pub terminal_id: &'a str,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
}

/// A command printed more.
#[derive(Serialize, JsonSchema)]
pub struct TerminalOutput<'a> {
    /// The tool call.
    pub terminal_id: &'a str,
    /// What it printed, and nothing that was told before.
    pub data: &'a str,
}

/// A command ended.
#[derive(Serialize, JsonSchema)]
pub struct TerminalExit<'a> {
    /// The tool call.
    pub terminal_id: &'a str,
    /// Its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}
