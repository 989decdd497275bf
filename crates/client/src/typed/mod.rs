//! Events for programs: what happens in a session, as types. They are read from the messages of the first dialect, so
//! there is one truth about what the words mean; requests of the agent, for which it has no words, are added.

mod fields;
mod read;
mod stream;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{EndReason, Id, RequestResolved, SessionConfig, Timestamp};

pub(crate) use self::stream::typed;
use crate::{AgentError, Approval};

/// Something that happened in a session.
#[derive(Clone, Debug)]
pub struct AgentEvent {
    /// The place in the session of the event that it was read from. Several may have the same.
    pub seq: u64,
    /// Its own id.
    pub id: String,
    /// The session.
    pub session_id: Id,
    /// When.
    pub timestamp: Timestamp,
    /// The tool under which a subagent works, if it is a subagent's.
    pub parent_tool_id: Option<String>,
    /// What happened.
    pub kind: AgentEventKind,
    /// Fields that this version does not know.
    pub extra: BTreeMap<String, Box<RawValue>>,
}

/// What happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentEventKind {
    /// A run of the session began.
    SessionStarted {
        /// The agent.
        agent_type: String,
        /// The settings.
        config: Option<SessionConfig>,
    },
    /// A turn began.
    TurnStarted {
        /// Which.
        turn_number: Option<u32>,
        /// What the user asked for.
        prompt: Option<String>,
    },
    /// Text. The chunks of one channel, joined in order, are the text.
    TextChunk {
        /// New text; may be empty.
        content: String,
        /// The last chunk of a message.
        is_complete: bool,
        /// Which text this is; the answer has none.
        channel: Option<String>,
    },
    /// A tool began.
    ToolStarted {
        /// The call.
        tool_id: String,
        /// The tool.
        tool_name: String,
        /// What it was given.
        arguments: Option<Box<RawValue>>,
    },
    /// A tool goes on.
    ToolProgress {
        /// The call.
        tool_id: String,
        /// New output.
        output: Option<String>,
        /// How far it is, from 0 to 1.
        progress: Option<f64>,
    },
    /// A tool ran to its end.
    ToolCompleted {
        /// The call.
        tool_id: String,
        /// It did what it should.
        success: bool,
        /// What it gave back.
        result: Option<Box<RawValue>>,
        /// What went wrong.
        error: Option<String>,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// A tool did not run to its end: declined, interrupted, died.
    ToolFailed {
        /// The call.
        tool_id: String,
        /// Why.
        error: Option<String>,
    },
    /// A file changed.
    FileChanged {
        /// Which.
        file_path: String,
        /// How.
        change_type: FileChangeType,
        /// What, as a unified diff.
        diff: Option<String>,
        /// Its text before.
        before: Option<String>,
        /// Its text after.
        after: Option<String>,
    },
    /// The agent waits for an answer.
    ApprovalRequested(Box<Approval>),
    /// A request of the agent was answered, or needs no answer any more.
    ApprovalResolved(Box<RequestResolved>),
    /// A turn ended well.
    TurnCompleted {
        /// Which.
        turn_number: Option<u32>,
        /// What it used.
        usage: TokenUsage,
        /// How long it took.
        duration_ms: Option<u64>,
    },
    /// A turn failed or was interrupted.
    TurnFailed {
        /// Which.
        turn_number: Option<u32>,
        /// What it used.
        usage: Option<TokenUsage>,
        /// How long it took.
        duration_ms: Option<u64>,
        /// Why.
        error: AgentError,
    },
    /// Something went wrong, and the session goes on.
    Error(AgentError),
    /// A run of the session ended. A follow-up begins another.
    SessionEnded {
        /// How.
        reason: EndReason,
        /// Why, if it failed.
        error: Option<AgentError>,
    },
    /// Something that this version has no type for. What it says is in `extra`.
    Other {
        /// What it is called.
        name: String,
    },
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeType {
    /// It is new.
    Created,
    /// It is another.
    Modified,
    /// It is gone.
    Deleted,
}

/// What a turn used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// What the model read, from the cache or not.
    pub input_tokens: u64,
    /// What it wrote, thoughts included.
    pub output_tokens: u64,
    /// What of the input was in the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// What of the output were thoughts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Tokens of tool use, where the agent counts them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_tokens: Option<u64>,
    /// Input, output and tool use.
    pub total_tokens: u64,
}
