//! Typed events for programs. They are parsed from the messages of the first dialect, so that there is one definition
//! of their meaning; requests of the agent, which that dialect lacks, are added.

mod json;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{EndReason, Id, RequestResolved, SessionConfig, Timestamp};

pub(crate) use self::stream::typed_events;
use crate::{AgentError, Approval};

/// An event of a session.
#[derive(Clone, Debug)]
pub struct AgentEvent {
    /// The `seq` of the event that it was read from. Several typed events may share one.
    pub seq: u64,
    /// The ID of this event.
    pub id: String,
    /// The session.
    pub session_id: Id,
    /// The time of the event.
    pub timestamp: Timestamp,
    /// The tool call under which the subagent works, for events of a subagent.
    pub parent_tool_id: Option<String>,
    /// The content of the event.
    pub kind: AgentEventKind,
    /// Fields unknown to this version.
    pub extra: BTreeMap<String, Box<RawValue>>,
}

/// The content of the event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentEventKind {
    /// A run of the session began.
    SessionStarted {
        /// The agent.
        agent_type: String,
        /// The settings.
        config: Option<Box<SessionConfig>>,
    },
    /// A turn began.
    TurnStarted {
        /// The number of the turn.
        turn_number: Option<u32>,
        /// The prompt of the user.
        prompt: Option<String>,
    },
    /// Text. The chunks of one channel, joined in order, are the text.
    TextChunk {
        /// New text; may be empty.
        content: String,
        /// Whether this is the last chunk of a message.
        is_complete: bool,
        /// The kind of text; the answer has none.
        channel: Option<String>,
        /// Text that the agent took back: remove it from the end of the channel's text.
        retracted: Option<String>,
    },
    /// A tool began.
    ToolStarted {
        /// The tool call.
        tool_id: String,
        /// The name of the tool.
        tool_name: String,
        /// The input of the tool.
        arguments: Option<Box<RawValue>>,
    },
    /// A tool reported progress.
    ToolProgress {
        /// The tool call.
        tool_id: String,
        /// New output.
        output: Option<String>,
        /// The progress, from 0 to 1.
        progress: Option<f64>,
    },
    /// A tool ran to its end.
    ToolCompleted {
        /// The tool call.
        tool_id: String,
        /// Whether the tool succeeded.
        success: bool,
        /// The result of the tool.
        result: Option<Box<RawValue>>,
        /// The error message.
        error: Option<String>,
        /// The duration.
        duration_ms: Option<u64>,
    },
    /// A tool did not run to its end: it was declined or interrupted, or it died.
    ToolFailed {
        /// The tool call.
        tool_id: String,
        /// The cause.
        error: Option<String>,
    },
    /// A file changed.
    FileChanged {
        /// The path of the file.
        file_path: String,
        /// The kind of the change.
        change_type: FileChangeType,
        /// The change as a unified diff.
        diff: Option<String>,
        /// The text before the change.
        before: Option<String>,
        /// The text after the change.
        after: Option<String>,
    },
    /// The agent waits for an answer.
    ApprovalRequested(Box<Approval>),
    /// A request of the agent was answered or withdrawn.
    ApprovalResolved(Box<RequestResolved>),
    /// A turn completed.
    TurnCompleted {
        /// The number of the turn.
        turn_number: Option<u32>,
        /// The token usage of the turn.
        usage: TurnTokenUsage,
        /// The duration.
        duration_ms: Option<u64>,
    },
    /// A turn failed or was interrupted.
    TurnFailed {
        /// The number of the turn.
        turn_number: Option<u32>,
        /// The token usage of the turn.
        usage: Option<TurnTokenUsage>,
        /// The duration.
        duration_ms: Option<u64>,
        /// The cause.
        error: AgentError,
    },
    /// An error that does not end the session.
    Error(AgentError),
    /// A run of the session ended. A follow-up starts another.
    SessionEnded {
        /// The reason for the end.
        reason: EndReason,
        /// The cause, if the run failed.
        error: Option<AgentError>,
    },
    /// An event that this version has no type for. Its fields are in `extra`.
    Other {
        /// The type of the message.
        name: String,
    },
}

/// The kind of a file change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeType {
    /// The file is new.
    Created,
    /// The file has other content.
    Modified,
    /// The file was removed.
    Deleted,
}

/// The token usage of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnTokenUsage {
    /// Input tokens, cached or not.
    pub input_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
    /// Input tokens read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Output tokens that were reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Tokens of tool use, where the agent counts them separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_tokens: Option<u64>,
    /// Input, output and tool use.
    pub total_tokens: u64,
}
