//! Serializes typed events to messages, without loss.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{AgentEvent, AgentEventKind as Kind, fields::JsonFieldsBuilder};
use crate::AgentError;

impl Serialize for AgentEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("sessionId", &self.session_id)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        map.serialize_entry("type", self.kind.name())?;
        for (name, value) in self.kind.to_fields().0 {
            map.serialize_entry(name, &value)?;
        }
        if let Some(parent) = &self.parent_tool_id {
            map.serialize_entry("parentToolId", parent)?;
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Kind {
    /// Returns the message type.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::SessionStarted { .. } => "sessionStarted",
            Self::TurnStarted { .. } => "turnStarted",
            Self::TextChunk { .. } => "textChunk",
            Self::ToolStarted { .. } => "toolStarted",
            Self::ToolProgress { .. } => "toolProgress",
            Self::ToolCompleted { .. } => "toolCompleted",
            Self::ToolFailed { .. } => "toolFailed",
            Self::FileChanged { .. } => "fileChanged",
            Self::ApprovalRequested(_) => "approvalRequested",
            Self::ApprovalResolved(_) => "approvalResolved",
            Self::TurnCompleted { .. } => "turnCompleted",
            Self::TurnFailed { .. } => "turnFailed",
            Self::Error(_) => "error",
            Self::SessionEnded { .. } => "sessionEnded",
            Self::Other { name } => name,
        }
    }

    fn to_fields(&self) -> JsonFieldsBuilder {
        let out = JsonFieldsBuilder::default();
        match self {
            Self::SessionStarted { agent_type, config } => {
                out.with_field("agentType", agent_type).with_some("config", config.as_ref())
            }
            Self::TurnStarted { turn_number, prompt } => {
                out.with_some("turnNumber", turn_number.as_ref()).with_some("prompt", prompt.as_ref())
            }
            Self::TextChunk { content, is_complete, channel } => out
                .with_field("content", content)
                .with_field("isComplete", is_complete)
                .with_some("channel", channel.as_ref()),
            Self::ToolStarted { tool_id, tool_name, arguments } => out
                .with_field("toolId", tool_id)
                .with_field("toolName", tool_name)
                .with_some("arguments", arguments.as_ref()),
            Self::ToolProgress { tool_id, output, progress } => out
                .with_field("toolId", tool_id)
                .with_some("output", output.as_ref())
                .with_some("progress", progress.as_ref()),
            Self::ToolCompleted { tool_id, success, result, error, duration_ms } => out
                .with_field("toolId", tool_id)
                .with_field("success", success)
                .with_some("result", result.as_ref())
                .with_some("error", error.as_ref())
                .with_some("durationMs", duration_ms.as_ref()),
            Self::ToolFailed { tool_id, error } => out.with_field("toolId", tool_id).with_some("error", error.as_ref()),
            Self::FileChanged { file_path, change_type, diff, before, after } => out
                .with_field("filePath", file_path)
                .with_field("changeType", change_type)
                .with_some("diff", diff.as_ref())
                .with_some("before", before.as_ref())
                .with_some("after", after.as_ref()),
            Self::ApprovalRequested(approval) => out.with_field("approval", approval),
            Self::ApprovalResolved(resolution) => out.with_field("resolution", resolution),
            Self::TurnCompleted { turn_number, usage, duration_ms } => out
                .with_some("turnNumber", turn_number.as_ref())
                .with_field("usage", usage)
                .with_some("durationMs", duration_ms.as_ref()),
            Self::TurnFailed { turn_number, usage, duration_ms, error } => out
                .with_some("turnNumber", turn_number.as_ref())
                .with_some("usage", usage.as_ref())
                .with_some("durationMs", duration_ms.as_ref())
                .with_error("error", Some(error)),
            Self::Error(error) => out.with_error("message", Some(error)),
            Self::SessionEnded { reason, error } => {
                out.with_field("reason", reason).with_error("error", error.as_ref())
            }
            Self::Other { .. } => out,
        }
    }
}

impl JsonFieldsBuilder {
    fn with_error(self, field: &'static str, error: Option<&AgentError>) -> Self {
        match error {
            Some(error) => self.with_field(field, &error.message).with_field("errorType", &error.kind),
            None => self,
        }
    }
}
