//! Typed events to messages: what was read is written again, with nothing lost.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{AgentEvent, AgentEventKind as Kind, fields::Written};
use crate::AgentError;

impl Serialize for AgentEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("sessionId", &self.session_id)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        map.serialize_entry("type", self.kind.name())?;
        for (name, value) in self.kind.written().0 {
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
    /// Its type, as messages have it.
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

    fn written(&self) -> Written {
        let out = Written::default();
        match self {
            Self::SessionStarted { agent_type, config } => {
                out.with("agentType", agent_type).with_some("config", config.as_ref())
            }
            Self::TurnStarted { turn_number, prompt } => {
                out.with_some("turnNumber", turn_number.as_ref()).with_some("prompt", prompt.as_ref())
            }
            Self::TextChunk { content, is_complete, channel } => {
                out.with("content", content).with("isComplete", is_complete).with_some("channel", channel.as_ref())
            }
            Self::ToolStarted { tool_id, tool_name, arguments } => {
                out.with("toolId", tool_id).with("toolName", tool_name).with_some("arguments", arguments.as_ref())
            }
            Self::ToolProgress { tool_id, output, progress } => out
                .with("toolId", tool_id)
                .with_some("output", output.as_ref())
                .with_some("progress", progress.as_ref()),
            Self::ToolCompleted { tool_id, success, result, error, duration_ms } => out
                .with("toolId", tool_id)
                .with("success", success)
                .with_some("result", result.as_ref())
                .with_some("error", error.as_ref())
                .with_some("durationMs", duration_ms.as_ref()),
            Self::ToolFailed { tool_id, error } => out.with("toolId", tool_id).with_some("error", error.as_ref()),
            Self::FileChanged { file_path, change_type, diff, before, after } => out
                .with("filePath", file_path)
                .with("changeType", change_type)
                .with_some("diff", diff.as_ref())
                .with_some("before", before.as_ref())
                .with_some("after", after.as_ref()),
            Self::ApprovalRequested(approval) => out.with("approval", approval),
            Self::ApprovalResolved(resolution) => out.with("resolution", resolution),
            Self::TurnCompleted { turn_number, usage, duration_ms } => out
                .with_some("turnNumber", turn_number.as_ref())
                .with("usage", usage)
                .with_some("durationMs", duration_ms.as_ref()),
            Self::TurnFailed { turn_number, usage, duration_ms, error } => out
                .with_some("turnNumber", turn_number.as_ref())
                .with_some("usage", usage.as_ref())
                .with_some("durationMs", duration_ms.as_ref())
                .with_error("error", Some(error)),
            Self::Error(error) => out.with_error("message", Some(error)),
            Self::SessionEnded { reason, error } => out.with("reason", reason).with_error("error", error.as_ref()),
            Self::Other { .. } => out,
        }
    }
}

impl Written {
    fn with_error(self, field: &'static str, error: Option<&AgentError>) -> Self {
        match error {
            Some(error) => self.with(field, &error.message).with("errorType", &error.kind),
            None => self,
        }
    }
}
