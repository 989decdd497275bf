//! Message types of the specification as one flat type: every message has the first four fields and those of its type.
//! Unknown values are omitted, never `null`.

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{ErrorKind, Event, SessionConfig, Timestamp, Usage};

use crate::message_id::MessageId;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnifiedEvent<'a> {
    pub id: MessageId<'a>,
    pub session_id: &'a str,
    pub timestamp: Timestamp,
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<&'a SessionConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_number: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_complete: Option<bool>,
    /// Ours: the kind of text, unless it is the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UnifiedTokenUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorKind>,
    /// Ours: the tool call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_id: Option<&'a str>,
}

impl<'a> UnifiedEvent<'a> {
    /// Creates a message with only its envelope.
    pub fn new(event: &'a Event, part: u32, kind: &'static str) -> Self {
        Self {
            id: MessageId { event, part },
            session_id: &event.session,
            timestamp: event.at,
            kind,
            agent_type: None,
            config: None,
            turn_number: None,
            prompt: None,
            content: None,
            is_complete: None,
            channel: None,
            tool_id: None,
            tool_name: None,
            arguments: None,
            output: None,
            progress: None,
            success: None,
            result: None,
            file_path: None,
            change_type: None,
            diff: None,
            before: None,
            after: None,
            usage: None,
            duration_ms: None,
            reason: None,
            error: None,
            message: None,
            error_type: None,
            parent_tool_id: event.parent.as_deref(),
        }
    }
}

/// The tokens of a turn. Input includes the cache, total is input plus output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnifiedTokenUsage {
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    reasoning_tokens: u64,
    /// Ours: tokens of tool use, if the agent counts them separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_tokens: Option<u64>,
    total_tokens: u64,
}

impl From<Usage> for UnifiedTokenUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.all_input(),
            output_tokens: usage.output,
            cached_tokens: usage.cache_read,
            reasoning_tokens: usage.reasoning,
            tool_tokens: usage.tool,
            total_tokens: usage.total_tokens(),
        }
    }
}
