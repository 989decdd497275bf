//! The kinds and stages of entries, as the page knows them.

use switchboard_event::{Details, Outcome, Status, TurnStatus};

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
    /// A plan.
    Plan,
    /// A subagent.
    Subagent,
    /// A request of the agent.
    Request,
    /// A notice.
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
