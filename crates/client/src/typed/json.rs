//! `AgentEvent` from and to JSON.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use switchboard_event::to_raw_json;

use super::{AgentEvent, AgentEventKind as Kind};
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
            retracted: of.take_field("retracted"),
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
            Self::TextChunk { content, is_complete, channel, retracted } => out
                .with_field("content", content)
                .with_field("isComplete", is_complete)
                .with_some("channel", channel.as_ref())
                .with_some("retracted", retracted.as_ref()),
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

/// Fields by name.
#[derive(Default)]
pub struct JsonFields(pub BTreeMap<String, Box<RawValue>>);

impl JsonFields {
    /// Removes and returns a field if it exists and has the expected type.
    pub fn take_field<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let value = serde_json::from_str(self.0.get(name)?.get()).ok()?;
        self.0.remove(name);
        Some(value)
    }

    /// Removes and returns a field as verbatim JSON.
    pub fn take_raw(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.remove(name)
    }
}

/// Fields to write, in order.
#[derive(Default)]
pub struct JsonFieldsBuilder(pub Vec<(&'static str, Box<RawValue>)>);

impl JsonFieldsBuilder {
    /// Adds a field.
    pub fn with_field(mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Self {
        self.0.push((name, to_raw_json(value)));
        self
    }

    /// Adds a field if there is a value.
    pub fn with_some<T: Serialize>(self, name: &'static str, value: Option<&T>) -> Self {
        match value {
            Some(value) => self.with_field(name, value),
            None => self,
        }
    }
}
