//! Messages to typed events. What lacks something that its type must have is kept as `Other`.

use super::{AgentEvent, AgentEventKind as Kind, fields::Fields};
use crate::{AgentError, AgentErrorKind};

impl AgentEvent {
    /// Reads a message. Nothing if it is not even an object with an id, a session, a time and a type.
    #[must_use]
    pub fn from_json(seq: u64, text: &str) -> Option<Self> {
        let whole = || serde_json::from_str(text).ok().map(Fields);
        let mut fields = whole()?;
        let event = Self {
            seq,
            id: fields.take("id")?,
            session_id: fields.take("sessionId")?,
            timestamp: fields.take("timestamp")?,
            parent_tool_id: fields.take("parentToolId"),
            kind: Kind::Other { name: fields.take("type")? },
            extra: fields.0,
        };
        let mut fields = Fields(event.extra.clone());
        let Kind::Other { name } = &event.kind else { return Some(event) };
        match kind(name, &mut fields) {
            Some(kind) => Some(Self { kind, extra: fields.0, ..event }),
            None => Some(event),
        }
    }
}

fn kind(name: &str, of: &mut Fields) -> Option<Kind> {
    Some(match name {
        "sessionStarted" => Kind::SessionStarted { agent_type: of.take("agentType")?, config: of.take("config") },
        "turnStarted" => Kind::TurnStarted { turn_number: of.take("turnNumber"), prompt: of.take("prompt") },
        "textChunk" => Kind::TextChunk {
            content: of.take("content")?,
            is_complete: of.take("isComplete").unwrap_or_default(),
            channel: of.take("channel"),
        },
        "toolStarted" => Kind::ToolStarted {
            tool_id: of.take("toolId")?,
            tool_name: of.take("toolName")?,
            arguments: of.take_raw("arguments"),
        },
        "toolProgress" => {
            Kind::ToolProgress { tool_id: of.take("toolId")?, output: of.take("output"), progress: of.take("progress") }
        }
        "toolCompleted" => Kind::ToolCompleted {
            tool_id: of.take("toolId")?,
            success: of.take("success")?,
            result: of.take_raw("result"),
            error: of.take("error"),
            duration_ms: of.take("durationMs"),
        },
        "toolFailed" => Kind::ToolFailed { tool_id: of.take("toolId")?, error: of.take("error") },
        "fileChanged" => Kind::FileChanged {
            file_path: of.take("filePath")?,
            change_type: of.take("changeType")?,
            diff: of.take("diff"),
            before: of.take("before"),
            after: of.take("after"),
        },
        _ => return lifecycle(name, of),
    })
}

fn lifecycle(name: &str, of: &mut Fields) -> Option<Kind> {
    Some(match name {
        "turnCompleted" => Kind::TurnCompleted {
            turn_number: of.take("turnNumber"),
            usage: of.take("usage")?,
            duration_ms: of.take("durationMs"),
        },
        "turnFailed" => Kind::TurnFailed {
            turn_number: of.take("turnNumber"),
            usage: of.take("usage"),
            duration_ms: of.take("durationMs"),
            error: error("error", of)?,
        },
        "error" => Kind::Error(error("message", of)?),
        "sessionEnded" => Kind::SessionEnded { reason: of.take("reason")?, error: error("error", of) },
        "approvalRequested" => Kind::ApprovalRequested(of.take("approval")?),
        "approvalResolved" => Kind::ApprovalResolved(of.take("resolution")?),
        _ => return None,
    })
}

fn error(field: &str, of: &mut Fields) -> Option<AgentError> {
    let message: String = of.take(field)?;
    Some(AgentError::new(of.take("errorType").unwrap_or(AgentErrorKind::Unknown), message))
}
