//! Parses messages to typed events. A message without a required field becomes `Other`.

use super::{AgentEvent, AgentEventKind as Kind, fields::JsonFields};
use crate::{AgentError, AgentErrorKind};

impl AgentEvent {
    /// Parses a message; `None` unless it is an object with an ID, a session, a time and a type.
    #[must_use]
    pub fn from_json(seq: u64, text: &str) -> Option<Self> {
        let whole = || serde_json::from_str(text).ok().map(JsonFields);
        let mut fields = whole()?;
        let event = Self {
            seq,
            id: fields.take_field("id")?,
            session_id: fields.take_field("sessionId")?,
            timestamp: fields.take_field("timestamp")?,
            parent_tool_id: fields.take_field("parentToolId"),
            kind: Kind::Other { name: fields.take_field("type")? },
            extra: fields.0,
        };
        let mut fields = JsonFields(event.extra.clone());
        let Kind::Other { name } = &event.kind else { return Some(event) };
        match parse_kind(name, &mut fields) {
            Some(kind) => Some(Self { kind, extra: fields.0, ..event }),
            None => Some(event),
        }
    }
}

fn parse_kind(name: &str, of: &mut JsonFields) -> Option<Kind> {
    Some(match name {
        "sessionStarted" => {
            Kind::SessionStarted { agent_type: of.take_field("agentType")?, config: of.take_field("config") }
        }
        "turnStarted" => {
            Kind::TurnStarted { turn_number: of.take_field("turnNumber"), prompt: of.take_field("prompt") }
        }
        "textChunk" => Kind::TextChunk {
            content: of.take_field("content")?,
            is_complete: of.take_field("isComplete").unwrap_or_default(),
            channel: of.take_field("channel"),
        },
        "toolStarted" => Kind::ToolStarted {
            tool_id: of.take_field("toolId")?,
            tool_name: of.take_field("toolName")?,
            arguments: of.take_raw("arguments"),
        },
        "toolProgress" => Kind::ToolProgress {
            tool_id: of.take_field("toolId")?,
            output: of.take_field("output"),
            progress: of.take_field("progress"),
        },
        "toolCompleted" => Kind::ToolCompleted {
            tool_id: of.take_field("toolId")?,
            success: of.take_field("success")?,
            result: of.take_raw("result"),
            error: of.take_field("error"),
            duration_ms: of.take_field("durationMs"),
        },
        "toolFailed" => Kind::ToolFailed { tool_id: of.take_field("toolId")?, error: of.take_field("error") },
        "fileChanged" => Kind::FileChanged {
            file_path: of.take_field("filePath")?,
            change_type: of.take_field("changeType")?,
            diff: of.take_field("diff"),
            before: of.take_field("before"),
            after: of.take_field("after"),
        },
        _ => return parse_lifecycle_kind(name, of),
    })
}

fn parse_lifecycle_kind(name: &str, of: &mut JsonFields) -> Option<Kind> {
    Some(match name {
        "turnCompleted" => Kind::TurnCompleted {
            turn_number: of.take_field("turnNumber"),
            usage: of.take_field("usage")?,
            duration_ms: of.take_field("durationMs"),
        },
        "turnFailed" => Kind::TurnFailed {
            turn_number: of.take_field("turnNumber"),
            usage: of.take_field("usage"),
            duration_ms: of.take_field("durationMs"),
            error: parse_error("error", of)?,
        },
        "error" => Kind::Error(parse_error("message", of)?),
        "sessionEnded" => Kind::SessionEnded { reason: of.take_field("reason")?, error: parse_error("error", of) },
        "approvalRequested" => Kind::ApprovalRequested(of.take_field("approval")?),
        "approvalResolved" => Kind::ApprovalResolved(of.take_field("resolution")?),
        _ => return None,
    })
}

fn parse_error(field: &str, of: &mut JsonFields) -> Option<AgentError> {
    let message: String = of.take_field(field)?;
    Some(AgentError::new(of.take_field("errorType").unwrap_or(AgentErrorKind::Unknown), message))
}
