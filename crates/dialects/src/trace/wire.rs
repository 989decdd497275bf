//! One event as `agtrace.event.v1` has it: every field is always there, and `null` when it is not known. Fields that
//! are ours are left out when there is nothing to say.
//!
//! The fields come in groups that are written one after the other. Most events have no tool and no tokens, and all
//! events of a session begin alike: a group that is known beforehand is copied instead of spelled out.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{FileOp, Timestamp, Usage};

use crate::Messages;

/// One event.
pub struct AgentEventV1<'a> {
    pub origin: &'a Group,
    pub what: What<'a>,
    pub tool: Option<Tool<'a>>,
    pub model: Option<&'a str>,
    pub tokens: Option<Tokens>,
    pub rest: Rest<'a>,
}

/// Where it comes from: the same for all events of a session.
#[derive(Serialize)]
pub struct Origin<'a> {
    pub schema_version: &'static str,
    pub source: &'a str,
    pub project_hash: &'a str,
    pub project_root: Option<&'a str>,
    pub session_id: Option<&'a str>,
}

/// What happened, and when.
#[derive(Serialize)]
pub struct What<'a> {
    pub event_id: &'a str,
    pub parent_event_id: Option<&'a str>,
    pub ts: Timestamp,
    pub event_type: EventType,
    pub role: Role,
    pub channel: Channel,
    pub text: Option<&'a str>,
}

/// The tool and the file that it is about.
#[derive(Default, Serialize)]
pub struct Tool<'a> {
    #[serde(rename = "tool_name")]
    pub name: Option<&'a str>,
    #[serde(rename = "tool_call_id")]
    pub call_id: Option<&'a str>,
    #[serde(rename = "tool_status")]
    pub status: Option<ToolStatus>,
    #[serde(rename = "tool_latency_ms")]
    pub latency_ms: Option<u64>,
    #[serde(rename = "tool_exit_code")]
    pub exit_code: Option<i32>,
    pub file_path: Option<&'a str>,
    pub file_language: Option<&'static str>,
    pub file_op: Option<FileOp>,
}

#[derive(Serialize)]
struct Model<'a> {
    model: Option<&'a str>,
}

/// What the model used.
#[derive(Default, Serialize)]
pub struct Tokens {
    #[serde(rename = "tokens_input")]
    input: Option<u64>,
    #[serde(rename = "tokens_output")]
    output: Option<u64>,
    #[serde(rename = "tokens_total")]
    total: Option<u64>,
    #[serde(rename = "tokens_cached")]
    cached: Option<u64>,
    #[serde(rename = "tokens_thinking")]
    thinking: Option<u64>,
    #[serde(rename = "tokens_tool")]
    tool: Option<u64>,
    /// Ours: tokens written to a cache.
    #[serde(rename = "tokens_cache_write", skip_serializing_if = "Option::is_none")]
    cache_write: Option<u64>,
    /// Ours: those of them that are kept for an hour.
    #[serde(rename = "tokens_cache_write_1h", skip_serializing_if = "Option::is_none")]
    cache_write_1h: Option<u64>,
    /// Ours: what the agent says it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

/// The figures as the agent counts them; the total is of all that it counts.
impl From<&Usage> for Tokens {
    fn from(usage: &Usage) -> Self {
        let total = usage.total();
        Self {
            input: Some(usage.native_input()),
            output: Some(usage.native_output()),
            total: Some(total),
            cached: Some(usage.cache_read),
            // An agent that counts reasoning within its output may not say how much of it that is.
            thinking: Some(usage.reasoning).filter(|tokens| *tokens > 0 || !usage.reasoning_in_output),
            tool: usage.tool,
            cache_write: Some(usage.cache_write()).filter(|tokens| *tokens > 0),
            cache_write_1h: Some(usage.cache_write_1h).filter(|tokens| *tokens > 0),
            cost_usd: usage.cost_usd,
        }
    }
}

/// Who did it, and the record that said so.
#[derive(Serialize)]
pub struct Rest<'a> {
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
}

impl<'a> AgentEventV1<'a> {
    /// Adds what the model used.
    pub fn count(&mut self, usage: &'a Usage) {
        self.model = usage.model.as_deref().or(self.model);
        self.tokens = Some(Tokens::from(usage));
    }

    /// Writes the event.
    pub fn push(&self, out: &mut Messages) {
        static NO_TOOL: LazyLock<Group> = LazyLock::new(|| Group::of(&Tool::default()));
        static NO_TOKENS: LazyLock<Group> = LazyLock::new(|| Group::of(&Tokens::default()));
        out.write(|bytes| {
            let start = bytes.len();
            bytes.extend_from_slice(self.origin.0.as_bytes());
            append(bytes, &self.what)?;
            match &self.tool {
                Some(tool) => append(bytes, tool)?,
                None => bytes.extend_from_slice(NO_TOOL.0.as_bytes()),
            }
            append(bytes, &Model { model: self.model })?;
            match &self.tokens {
                Some(tokens) => append(bytes, tokens)?,
                None => bytes.extend_from_slice(NO_TOKENS.0.as_bytes()),
            }
            append(bytes, &self.rest)?;
            bytes.push(b'}');
            set(bytes, start, b'{');
            Ok(())
        });
    }
}

/// Fields that are written already: each with a comma before it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Group(String);

impl Group {
    /// Writes the fields of an object. What cannot be written as JSON is left out; no type of ours is such.
    pub fn of<T: Serialize>(fields: &T) -> Self {
        let mut bytes = Vec::new();
        let written = append(&mut bytes, fields);
        Self(written.ok().and_then(|()| String::from_utf8(bytes).ok()).unwrap_or_default())
    }
}

/// Writes the fields of an object that is never empty, each with a comma before it.
fn append<T: Serialize>(bytes: &mut Vec<u8>, fields: &T) -> serde_json::Result<()> {
    let start = bytes.len();
    serde_json::to_writer(&mut *bytes, fields)?;
    set(bytes, start, b',');
    bytes.pop();
    Ok(())
}

fn set(bytes: &mut [u8], at: usize, byte: u8) {
    if let Some(place) = bytes.get_mut(at) {
        *place = byte;
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
    Cli,
}

impl EventType {
    /// The role that the specification demands. Summaries are the model's, logs the runtime's.
    pub fn role(self) -> Role {
        match self {
            Self::UserMessage => Role::User,
            Self::AssistantMessage | Self::Reasoning | Self::ToolCall | Self::SessionSummary => Role::Assistant,
            Self::ToolResult => Role::Tool,
            Self::SystemMessage | Self::FileSnapshot | Self::Meta | Self::Log => Role::System,
        }
    }
}

/// Where it happened.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Chat,
    Editor,
    Terminal,
    Filesystem,
    System,
    Other,
    /// Typed at the agent's own prompt.
    Cli,
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
