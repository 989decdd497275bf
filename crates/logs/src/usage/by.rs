//! Grouping and order of usage rows.

use std::str::FromStr;

/// The grouping of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsageGrouping {
    /// Days in the time zone.
    Day,
    /// ISO 8601 weeks, Monday to Sunday.
    Week,
    Month,
    /// Sessions, each with its subagents.
    Session,
    /// Working directories.
    Project,
    Model,
    Agent,
    /// Tools called by the replies.
    Tool,
    /// Subagents and the main agent.
    Subagent,
    /// Five-hour blocks, from the full hour of the first reply.
    Block,
}

impl UsageGrouping {
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

    /// Returns the name used in options and queries.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

    /// Returns a one-line description.
    #[must_use]
    pub fn description(self) -> &'static str {
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

    /// Returns whether groups are periods, so that rows have a natural order.
    #[must_use]
    pub fn is_time_based(self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month | Self::Block)
    }
}

impl FromStr for UsageGrouping {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|by| by.as_str() == name).ok_or(())
    }
}
