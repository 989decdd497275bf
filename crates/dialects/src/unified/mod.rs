//! Unified events of the CLI agent streaming protocol: `sessionStarted` … `sessionEnded`, in camelCase.

mod project;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_event::{ErrorKind, Event, Id, SessionConfig, Timestamp, Usage};

use crate::projection::{MessageId, restore_projection};
use crate::{Dialect, MessageBuffer};

/// The unified dialect.
pub const DIALECT: Dialect = Dialect {
    name: "unified",
    title: "unified agent events: sessionStarted, textChunk, toolStarted, …",
    projection: || Box::new(project::UnifiedProjection::default()),
    restore: restore_projection::<project::UnifiedProjection>,
    revision: 3,
    verbatim: false,
    schema: message_schema,
};

/// Returns the schema of one message.
fn message_schema(agents: &[&str]) -> Value {
    let mut schema: Value = serde_json::from_str(include_str!("schema.json")).unwrap_or_default();
    if let Some(agent) = schema.pointer_mut("/allOf/0/then/properties/agentType/enum") {
        *agent = json!(agents);
    }
    schema
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UnifiedEvent<'a> {
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
    /// Ours: text that the agent took back, on the last chunk of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retracted: Option<&'a str>,
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
            retracted: None,
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
struct UnifiedTokenUsage {
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

/// A piece of text.
pub struct TextChunk<'a> {
    pub content: &'a str,
    pub is_complete: bool,
    pub channel: Option<&'static str>,
}

/// The session id as JSON, serialized once.
#[derive(Clone, Default)]
struct SessionJson {
    session: Id,
    json: Vec<u8>,
}

impl SessionJson {
    fn encode_session(&mut self, session: &Id) -> &[u8] {
        if self.session != *session || self.json.is_empty() {
            self.session = session.clone();
            self.json = serde_json::to_vec(&**session).unwrap_or_default();
        }
        &self.json
    }
}

/// Writes the first message of an event as a text chunk. Not used for subagents.
fn write_text_chunk(event: &Event, chunk: &TextChunk<'_>, session: &mut SessionJson, out: &mut MessageBuffer) {
    let session = session.encode_session(&event.session);
    out.write(|bytes| {
        bytes.extend_from_slice(b"{\"id\":\"");
        event.id().write_to(bytes);
        bytes.extend_from_slice(b"\",\"sessionId\":");
        bytes.extend_from_slice(session);
        bytes.extend_from_slice(b",\"timestamp\":\"");
        event.at.write_to(bytes);
        bytes.extend_from_slice(b"\",\"type\":\"textChunk\",\"content\":");
        serde_json::to_writer(&mut *bytes, chunk.content)?;
        bytes.extend_from_slice(if chunk.is_complete { b",\"isComplete\":true" } else { b",\"isComplete\":false" });
        if let Some(channel) = chunk.channel {
            bytes.extend_from_slice(b",\"channel\":\"");
            bytes.extend_from_slice(channel.as_bytes());
            bytes.push(b'"');
        }
        bytes.push(b'}');
        Ok(())
    });
}
