//! An event of `agtrace.event.v1`: every specified field is present, and `null` if unknown. Switchboard's own fields
//! are omitted if empty.
//!
//! The fields are written in groups. Most events have no tool and no tokens, and all events of a session start with the
//! same fields, so serialized groups are cached and copied.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{FileOp, Timestamp, Usage};

use crate::MessageBuffer;

pub struct AgentEventV1<'a> {
    pub origin: &'a SerializedFields,
    pub what: TraceOccurrence<'a>,
    pub tool: Option<TraceTool<'a>>,
    pub model: Option<&'a str>,
    pub tokens: Option<TraceTokens>,
    pub rest: TraceAttribution<'a>,
}

/// The source of the event: the same for all events of a session.
#[derive(Serialize)]
pub struct TraceOrigin<'a> {
    pub schema_version: &'static str,
    pub source: &'a str,
    pub project_hash: &'a str,
    pub project_root: Option<&'a str>,
    pub session_id: Option<&'a str>,
}

/// The type, time and text of the event.
#[derive(Serialize)]
pub struct TraceOccurrence<'a> {
    pub event_id: &'a str,
    pub parent_event_id: Option<&'a str>,
    pub ts: Timestamp,
    pub event_type: TraceEventType,
    pub role: TraceRole,
    pub channel: TraceChannel,
    pub text: Option<&'a str>,
}

/// The tool and its file.
#[derive(Default, Serialize)]
pub struct TraceTool<'a> {
    #[serde(rename = "tool_name")]
    pub name: Option<&'a str>,
    #[serde(rename = "tool_call_id")]
    pub call_id: Option<&'a str>,
    #[serde(rename = "tool_status")]
    pub status: Option<TraceToolStatus>,
    #[serde(rename = "tool_latency_ms")]
    pub latency_ms: Option<u64>,
    #[serde(rename = "tool_exit_code")]
    pub exit_code: Option<i32>,
    pub file_path: Option<&'a str>,
    pub file_language: Option<&'static str>,
    pub file_op: Option<FileOp>,
}

#[derive(Serialize)]
struct TraceModel<'a> {
    model: Option<&'a str>,
}

/// The token usage.
#[derive(Default, Serialize)]
pub struct TraceTokens {
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
    /// Ours: the part of them that is cached for an hour.
    #[serde(rename = "tokens_cache_write_1h", skip_serializing_if = "Option::is_none")]
    cache_write_1h: Option<u64>,
    /// Ours: the cost reported by the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

/// Converts usage as the agent counts it; the total includes every count.
impl From<&Usage> for TraceTokens {
    fn from(usage: &Usage) -> Self {
        let total = usage.total_tokens();
        Self {
            input: Some(usage.native_input()),
            output: Some(usage.native_output()),
            total: Some(total),
            cached: Some(usage.cache_read),
            // An agent that includes reasoning in its output may not report its share.
            thinking: Some(usage.reasoning).filter(|tokens| *tokens > 0 || !usage.reasoning_in_output),
            tool: usage.tool,
            cache_write: Some(usage.cache_write()).filter(|tokens| *tokens > 0),
            cache_write_1h: Some(usage.cache_write_1h).filter(|tokens| *tokens > 0),
            cost_usd: usage.cost_usd,
        }
    }
}

/// The author of the event and its native record.
#[derive(Serialize)]
pub struct TraceAttribution<'a> {
    pub agent_id: Option<&'a str>,
    pub raw: Option<&'a RawValue>,
    /// Ours: the position in the session, which orders events with equal timestamps.
    pub sequence: u64,
    /// Ours: the subagent's thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// Ours: the tool call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_item: Option<&'a str>,
}

impl<'a> AgentEventV1<'a> {
    /// Adds the token usage.
    pub fn set_usage(&mut self, usage: &'a Usage) {
        self.model = usage.model.as_deref().or(self.model);
        self.tokens = Some(TraceTokens::from(usage));
    }

    pub fn write_to(&self, out: &mut MessageBuffer) {
        static NO_TOOL: LazyLock<SerializedFields> =
            LazyLock::new(|| SerializedFields::from_value(&TraceTool::default()));
        static NO_TOKENS: LazyLock<SerializedFields> =
            LazyLock::new(|| SerializedFields::from_value(&TraceTokens::default()));
        out.write(|bytes| {
            let start = bytes.len();
            bytes.extend_from_slice(self.origin.0.as_bytes());
            append_fields(bytes, &self.what)?;
            match &self.tool {
                Some(tool) => append_fields(bytes, tool)?,
                None => bytes.extend_from_slice(NO_TOOL.0.as_bytes()),
            }
            append_fields(bytes, &TraceModel { model: self.model })?;
            match &self.tokens {
                Some(tokens) => append_fields(bytes, tokens)?,
                None => bytes.extend_from_slice(NO_TOKENS.0.as_bytes()),
            }
            append_fields(bytes, &self.rest)?;
            bytes.push(b'}');
            set_byte(bytes, start, b'{');
            Ok(())
        });
    }
}

/// Serialized fields, each preceded by a comma.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SerializedFields(String);

impl SerializedFields {
    /// Serializes the fields of an object. A value that cannot be serialized is dropped; none of our types fails to
    /// serialize.
    pub fn from_value<T: Serialize>(fields: &T) -> Self {
        let mut bytes = Vec::new();
        let written = append_fields(&mut bytes, fields);
        Self(written.ok().and_then(|()| String::from_utf8(bytes).ok()).unwrap_or_default())
    }
}

/// Appends the fields of a non-empty object, each preceded by a comma.
fn append_fields<T: Serialize>(bytes: &mut Vec<u8>, fields: &T) -> serde_json::Result<()> {
    let start = bytes.len();
    serde_json::to_writer(&mut *bytes, fields)?;
    set_byte(bytes, start, b',');
    bytes.pop();
    Ok(())
}

fn set_byte(bytes: &mut [u8], at: usize, byte: u8) {
    if let Some(place) = bytes.get_mut(at) {
        *place = byte;
    }
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceEventType {
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

/// The author of an event.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceRole {
    User,
    Assistant,
    System,
    Tool,
    Cli,
}

impl TraceEventType {
    /// Returns the role required by the specification. Summaries belong to the model, logs to the runtime.
    pub fn role(self) -> TraceRole {
        match self {
            Self::UserMessage => TraceRole::User,
            Self::AssistantMessage | Self::Reasoning | Self::ToolCall | Self::SessionSummary => TraceRole::Assistant,
            Self::ToolResult => TraceRole::Tool,
            Self::SystemMessage | Self::FileSnapshot | Self::Meta | Self::Log => TraceRole::System,
        }
    }
}

/// The place of an event.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceChannel {
    Chat,
    Editor,
    Terminal,
    Filesystem,
    System,
    Other,
    /// Typed at the agent's own prompt.
    Cli,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceToolStatus {
    Success,
    Error,
    InProgress,
    Unknown,
}
