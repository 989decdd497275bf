//! What replies are put together by.

use std::str::FromStr;

/// What replies are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// Days of the time zone.
    Day,
    /// Weeks from Monday to Sunday, numbered as ISO 8601 has it.
    Week,
    /// Months.
    Month,
    /// Sessions, each with its subagents.
    Session,
    /// Folders that were worked in.
    Project,
    /// Models.
    Model,
    /// Agents.
    Agent,
    /// Tools that the replies called.
    Tool,
    /// Subagents, and the main agent.
    Subagent,
    /// Stretches of five hours, from the full hour of the first reply on.
    Block,
}

impl By {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Day,
        Self::Week,
        Self::Month,
        Self::Session,
        Self::Project,
        Self::Model,
        Self::Agent,
        Self::Tool,
        Self::Subagent,
        Self::Block,
    ];

    /// Its name, as it is typed and asked for.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Session => "session",
            Self::Project => "project",
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Subagent => "subagent",
            Self::Block => "block",
        }
    }

    /// What it is, in a line.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Day => "Days of the time zone",
            Self::Week => "Weeks from Monday on, as 2026-W47",
            Self::Month => "Months, as 2026-11",
            Self::Session => "Sessions, with their subagents",
            Self::Project => "Folders that were worked in",
            Self::Model => "Models",
            Self::Agent => "Agents",
            Self::Tool => "Tools that the replies called; `(answer)` called none",
            Self::Subagent => "Subagents; `(main)` is the agent itself",
            Self::Block => "Stretches of five hours, with the rate and the forecast of the current one",
        }
    }

    /// It follows time, so that rows have an order of their own.
    #[must_use]
    pub fn is_time(self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month | Self::Block)
    }
}

impl FromStr for By {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|by| by.name() == name).ok_or(())
    }
}
