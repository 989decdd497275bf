//! One event as `agtrace.event.v1` has it: every field is always there, and `null` when it is not known. Fields that
//! are ours stand at the end and are left out when there is nothing to say.

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{FileOp, Timestamp, Usage};

/// One event. Flat and borrowed, so that writing one costs little more than its bytes.
#[derive(Serialize)]
pub struct AgentEventV1<'a> {
    pub schema_version: &'static str,
    pub source: &'a str,
    pub project_hash: &'a str,
    pub project_root: Option<&'a str>,
    pub session_id: Option<&'a str>,
    pub event_id: &'a str,
    pub parent_event_id: Option<&'a str>,
    pub ts: Timestamp,
    pub event_type: EventType,
    pub role: Role,
    pub channel: Channel,
    pub text: Option<&'a str>,
    pub tool_name: Option<&'a str>,
    pub tool_call_id: Option<&'a str>,
    pub tool_status: Option<ToolStatus>,
    pub tool_latency_ms: Option<u64>,
    pub tool_exit_code: Option<i32>,
    pub file_path: Option<&'a str>,
    pub file_language: Option<&'static str>,
    pub file_op: Option<FileOp>,
    pub model: Option<&'a str>,
    pub tokens_input: Option<u64>,
    pub tokens_output: Option<u64>,
    pub tokens_total: Option<u64>,
    pub tokens_cached: Option<u64>,
    pub tokens_thinking: Option<u64>,
    pub tokens_tool: Option<u64>,
    pub agent_id: Option<&'a str>,
    pub raw: Option<&'a RawValue>,
    /// Ours: the place in the session, for events of the same time.
    pub sequence: u64,
    /// Ours: the subagent's thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// Ours: the tool call under which a subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_item: Option<&'a str>,
    /// Ours: tokens written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_cache_write: Option<u64>,
    /// Ours: what the agent says it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl<'a> AgentEventV1<'a> {
    /// The figures as the agent counts them; the total is of all that it counts.
    pub fn count(&mut self, usage: &'a Usage) {
        let total = usage.all_input().saturating_add(usage.output).saturating_add(usage.tool.unwrap_or(0));
        self.model = usage.model.as_deref().or(self.model);
        self.tokens_input = Some(usage.native_input());
        self.tokens_output = Some(usage.native_output());
        self.tokens_total = Some(total);
        self.tokens_cached = Some(usage.cache_read);
        // An agent that counts reasoning within its output may not say how much of it that is.
        self.tokens_thinking = Some(usage.reasoning).filter(|tokens| *tokens > 0 || !usage.reasoning_in_output);
        self.tokens_tool = usage.tool;
        self.tokens_cache_write = Some(usage.cache_write()).filter(|tokens| *tokens > 0);
        self.cost_usd = usage.cost_usd;
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    UserMessage,
    AssistantMessage,
    SystemMessage,
    Reasoning,
    ToolCall,
    ToolResult,
    FileSnapshot,
    SessionSummary,
    Meta,
    Log,
}

/// Who did it.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    System,
    Tool,
}

impl EventType {
    /// The role that the specification demands. Summaries and logs are the runtime's here.
    pub fn role(self) -> Role {
        match self {
            Self::UserMessage => Role::User,
            Self::AssistantMessage | Self::Reasoning | Self::ToolCall => Role::Assistant,
            Self::ToolResult => Role::Tool,
            Self::SystemMessage | Self::FileSnapshot | Self::SessionSummary | Self::Meta | Self::Log => Role::System,
        }
    }
}

/// Where it happened.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Chat,
    Editor,
    Terminal,
    Filesystem,
    System,
    Other,
}

/// How far a tool got.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Success,
    Error,
    InProgress,
    Unknown,
}
