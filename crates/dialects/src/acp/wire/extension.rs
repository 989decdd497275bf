//! Switchboard's extension notifications, which other clients ignore.

use schemars::JsonSchema;
use serde::Serialize;
use switchboard_event::{Decider, EndReason, ErrorCode, Origin, Outcome};

use super::StopReason;

/// A run of the agent began.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStarted<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// Which run of the session this is, from 1.
    pub run: u32,
    /// The agent's own id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session_id: Option<&'a str>,
    /// The folder it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
}

/// A run of the agent ended.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEnded<'a> {
    /// The session.
    pub session_id: &'a str,
    /// How it ended.
    pub reason: EndReason,
    /// Why, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure<'a>>,
}

/// What went wrong.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure<'a> {
    /// What a person is told.
    pub message: &'a str,
    /// One of our codes.
    pub code: ErrorCode,
    /// The provider's HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// Trying again may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// A turn began.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The turn.
    pub turn: u32,
    /// What began it.
    pub origin: Origin,
}

/// A turn ended.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnCompleted<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The turn.
    pub turn: u32,
    /// Why it ended; not said of one that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure<'a>>,
    /// What it used.
    pub usage: TokenUsage,
    /// What the agent says it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// All of them.
    pub total_tokens: u64,
    /// Of the input, without what was read from a cache or written to one.
    pub input_tokens: u64,
    /// Of the output, thoughts included.
    pub output_tokens: u64,
    /// Of the output, thoughts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_tokens: Option<u64>,
    /// Of the input, read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_read_tokens: Option<u64>,
    /// Of the input, written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_write_tokens: Option<u64>,
}

/// A request needs no answer any more.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestResolved<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The id of the request.
    pub request_id: &'a str,
    /// What became of it.
    pub outcome: Outcome,
    /// Who decided.
    pub by: Decider,
}

/// The agent took back the text of a message or of a thought.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageRetracted<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The `messageId` of the chunks that are void.
    pub message_id: &'a str,
}

/// What a subagent said, thought or was told.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentSaid<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The tool call under which it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
    /// Its own thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// The message.
    pub message_id: &'a str,
    /// Whose words they are.
    pub role: SubagentRole,
    /// All of it, at once.
    pub text: &'a str,
}

/// Whose words they are.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubagentRole {
    /// It says this.
    Agent,
    /// It thinks this.
    Thought,
    /// It is told this.
    User,
}

/// Additions to the protocol.
#[derive(Default, Serialize, JsonSchema)]
pub struct Meta<'a> {
    /// What only Switchboard says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switchboard: Option<SwitchboardMeta<'a>>,
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
    pub fn with_switchboard(ours: SwitchboardMeta<'a>) -> Self {
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
#[schemars(rename = "Ours")]
pub struct SwitchboardMeta<'a> {
    /// The subagent's own thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// The tool call under which the subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<&'a str>,
    /// The kind of content that is not the text of a message: a `plan`, or additional content (`beside`).
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
