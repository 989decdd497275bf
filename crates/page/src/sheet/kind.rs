//! What an entry is, and how far it got: the words that the page knows.

use switchboard_event::{Details, Outcome, Status, TurnStatus};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A turn began; later it says how the turn ended.
    Turn,
    /// What the user said.
    User,
    /// What the agent said.
    Answer,
    /// What the agent thought.
    Reasoning,
    /// A shell command.
    Command,
    /// Changes of files.
    Change,
    /// A call of a tool.
    Tool,
    /// A call of an MCP tool.
    Mcp,
    /// A search of the web.
    Search,
    /// A plan.
    Plan,
    /// Another agent, working for this one.
    Subagent,
    /// The agent asks.
    Request,
    /// Something to know.
    Notice,
    /// A run began or ended.
    Session,
    /// Something that is not known.
    Unknown,
}

impl Kind {
    /// Its name on the wire.
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

impl From<&Details> for Kind {
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

/// How far an entry got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It goes on.
    Running,
    /// It is finished.
    Completed,
    /// It did not work.
    Failed,
    /// It was not allowed; of a request, the answer was no.
    Declined,
    /// It was stopped.
    Interrupted,
    /// Another took its place.
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
    /// Nobody answered in time.
    Expired,
}

impl Stage {
    /// Its name on the wire.
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

impl From<Status> for Stage {
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

impl From<TurnStatus> for Stage {
    fn from(status: TurnStatus) -> Self {
        match status {
            TurnStatus::Completed => Self::Completed,
            TurnStatus::Failed => Self::Failed,
            TurnStatus::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Outcome> for Stage {
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
