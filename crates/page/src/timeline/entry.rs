//! Entries as the page receives them.

use serde::Serialize;
use switchboard_event::{About, Details, Id, Outcome, Question, RequestOption, Status, Timestamp, TurnStatus, Usage};

use crate::SafeHtml;

/// An entry of the timeline.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineEntry {
    /// The position, from 0.
    pub n: u32,
    pub id: Id,
    pub kind: &'static str,
    pub status: &'static str,
    /// The number of enclosing subagents.
    pub depth: u8,
    /// The entry of the innermost subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The start time.
    pub at: Timestamp,
    /// The duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// The title, one line.
    pub title: SafeHtml,
    /// A few words after the title, plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The finished content, possibly cut.
    pub html: SafeHtml,
    /// The unfinished text, shown after the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
    /// Whether it is initially folded.
    pub fold: bool,
    pub first: u64,
    pub last: u64,
    /// The approximate number of lines.
    pub size: u32,
    /// The format of the growing text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<&'static str>,
    /// Whether the content was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<EntryRequest>,
}

/// A request of the agent and the possible answers.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryRequest {
    pub id: Id,
    pub about: About,
    /// Whether it waits for an answer.
    pub open: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<RequestOption>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Only a person may answer: an approval is never preselected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// The time at which the request is declined automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The record of an entry.
#[derive(Clone, Debug)]
pub struct EntryRecord {
    pub kind: EntryKind,
    pub stage: EntryStage,
    /// The ID of the item or the request, or a generated one.
    pub id: Id,
    pub first: u64,
    pub last: u64,
    /// The event with its current content, while it is open.
    pub base: u64,
    pub done: Option<u64>,
    /// The latest event that did more than add text.
    pub stamp: u64,
    /// The start time.
    pub at: Timestamp,
    pub parent: Option<u32>,
    pub turn: Option<u32>,
    /// The approximate number of lines.
    pub size: u32,
    /// The number of similar events that it represents.
    pub count: u32,
    /// The usage of a turn.
    pub usage: Option<Box<Usage>>,
    /// Of little interest: similar notices may be joined to it.
    pub quiet: bool,
    /// The event with which the growing text started.
    pub(crate) seeded: u64,
}

impl EntryRecord {
    pub(crate) fn new(kind: EntryKind, stage: EntryStage, id: Id, event: &switchboard_event::Event) -> Self {
        Self {
            kind,
            stage,
            id,
            first: event.seq,
            last: event.seq,
            base: event.seq,
            done: None,
            stamp: event.seq,
            at: event.at,
            parent: None,
            turn: event.turn,
            size: 1,
            count: 1,
            usage: None,
            quiet: false,
            seeded: event.seq,
        }
    }
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The start of a turn, and later its end.
    Turn,
    /// A message of the user.
    User,
    /// A message of the agent.
    Answer,
    /// Reasoning of the agent.
    Reasoning,
    /// A shell command.
    Command,
    /// File changes.
    Change,
    /// A tool call.
    Tool,
    /// A call of an MCP tool.
    Mcp,
    /// A web search.
    Search,
    Plan,
    Subagent,
    /// A request of the agent.
    Request,
    Notice,
    /// The start or the end of a run.
    Session,
    /// An unknown item.
    Unknown,
}

impl EntryKind {
    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::User => "user",
            Self::Answer => "answer",
            Self::Reasoning => "reasoning",
            Self::Command => "command",
            Self::Change => "change",
            Self::Tool => "tool",
            Self::Mcp => "mcp",
            Self::Search => "search",
            Self::Plan => "plan",
            Self::Subagent => "subagent",
            Self::Request => "request",
            Self::Notice => "notice",
            Self::Session => "session",
            Self::Unknown => "unknown",
        }
    }
}

impl From<&Details> for EntryKind {
    fn from(details: &Details) -> Self {
        match details {
            Details::UserMessage(_) => Self::User,
            Details::AgentMessage(_) => Self::Answer,
            Details::Reasoning(_) => Self::Reasoning,
            Details::Command(_) => Self::Command,
            Details::FileChange(_) => Self::Change,
            Details::Mcp(_) => Self::Mcp,
            Details::WebSearch(_) => Self::Search,
            Details::Plan(_) => Self::Plan,
            Details::Subagent(_) => Self::Subagent,
            Details::Tool(_) => Self::Tool,
            Details::Unknown(_) => Self::Unknown,
        }
    }
}

/// The stage of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryStage {
    Running,
    Completed,
    Failed,
    /// Not allowed; of a request, the answer was no.
    Declined,
    Interrupted,
    /// Replaced by another item.
    Superseded,
    /// A request that waits for an answer.
    Open,
    /// The answer was yes.
    Allowed,
    /// The answer was no, and the turn stopped.
    Cancelled,
    /// The questions were answered.
    Answered,
    /// The agent no longer asks.
    Withdrawn,
    /// Not answered in time.
    Expired,
}

impl EntryStage {
    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Declined => "declined",
            Self::Interrupted => "interrupted",
            Self::Superseded => "superseded",
            Self::Open => "open",
            Self::Allowed => "allowed",
            Self::Cancelled => "cancelled",
            Self::Answered => "answered",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
        }
    }
}

impl From<Status> for EntryStage {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => Self::Running,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Declined => Self::Declined,
            Status::Interrupted => Self::Interrupted,
            Status::Superseded => Self::Superseded,
        }
    }
}

impl From<TurnStatus> for EntryStage {
    fn from(status: TurnStatus) -> Self {
        match status {
            TurnStatus::Completed => Self::Completed,
            TurnStatus::Failed => Self::Failed,
            TurnStatus::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Outcome> for EntryStage {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Allowed => Self::Allowed,
            Outcome::Declined => Self::Declined,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Answered => Self::Answered,
            Outcome::Withdrawn => Self::Withdrawn,
            Outcome::Expired => Self::Expired,
        }
    }
}
