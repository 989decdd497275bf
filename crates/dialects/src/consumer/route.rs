//! The router: what becomes of a message of each type. One table as the specification has it, one as it is here; the
//! code goes by the second, and the documentation shows both.

use super::unified::MessageType;

/// What becomes of messages of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The type.
    pub kind: MessageType,
    /// Who writes what consumers get.
    pub handling: Handling,
    /// What the state takes from it.
    pub reducer: Reduction,
    /// Whether consumers get it.
    pub broadcast: Broadcast,
}

/// Who writes what consumers get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// The router itself.
    Direct,
    /// The mapper.
    Mapped,
    /// The mapper, and keeps some of them back.
    Filtered,
    /// Nobody: it is only for the state.
    Delegated,
    /// Nobody: consumers say it.
    Outbound,
    /// Nobody: it classifies tool calls and is never a message.
    Taxonomy,
    /// Nobody: it stays in the log, for whoever looks for it.
    Traced,
    /// As before, but what the agent's process printed is passed on.
    Printed,
}

/// What the state takes from a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Nothing.
    None,
    /// What it says.
    Taken,
    /// Nothing yet.
    Stub,
    /// What its tool calls do in a team.
    TeamScan,
    /// Nothing: its tool calls are found by the scan.
    Correlated,
    /// Which requests are open.
    Pending,
}

/// Whether consumers get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broadcast {
    /// All of them.
    Yes,
    /// Nobody.
    No,
    /// As `session_update` of the team.
    TeamDiff,
}

use Broadcast::{No, TeamDiff, Yes};
use Handling::{Delegated, Direct, Filtered, Mapped, Outbound, Printed, Taxonomy, Traced};
use MessageType as Type;
use Reduction::{Correlated, None as Nothing, Pending, Stub, Taken, TeamScan};

const fn row(kind: Type, handling: Handling, reducer: Reduction, broadcast: Broadcast) -> Route {
    Route { kind, handling, reducer, broadcast }
}

/// The table of the specification.
pub const SPECIFIED: [Route; 19] = [
    row(Type::SessionInit, Direct, Taken, Yes),
    row(Type::StatusChange, Direct, Taken, Yes),
    row(Type::Assistant, Mapped, TeamScan, Yes),
    row(Type::Result, Mapped, Taken, Yes),
    row(Type::StreamEvent, Mapped, Nothing, Yes),
    row(Type::PermissionRequest, Filtered, Nothing, Yes),
    row(Type::ControlResponse, Delegated, Stub, No),
    row(Type::ToolProgress, Mapped, Nothing, Yes),
    row(Type::ToolUseSummary, Mapped, TeamScan, Yes),
    row(Type::AuthStatus, Mapped, Nothing, Yes),
    row(Type::ConfigurationChange, Mapped, Taken, Yes),
    row(Type::SessionLifecycle, Mapped, Nothing, Yes),
    row(Type::UserMessage, Outbound, Nothing, No),
    row(Type::PermissionResponse, Outbound, Nothing, No),
    row(Type::Interrupt, Outbound, Nothing, No),
    row(Type::TeamMessage, Taxonomy, Correlated, TeamDiff),
    row(Type::TeamTaskUpdate, Taxonomy, Correlated, TeamDiff),
    row(Type::TeamStateChange, Taxonomy, Correlated, TeamDiff),
    row(Type::Unknown, Traced, Nothing, No),
];

/// The table of what is done here.
pub const ROUTES: [Route; 19] = [
    row(Type::SessionInit, Direct, Taken, Yes),
    row(Type::StatusChange, Direct, Taken, Yes),
    row(Type::Assistant, Mapped, TeamScan, Yes),
    row(Type::Result, Mapped, Taken, Yes),
    row(Type::StreamEvent, Mapped, Nothing, Yes),
    row(Type::PermissionRequest, Mapped, Pending, Yes),
    row(Type::ControlResponse, Delegated, Taken, No),
    row(Type::ToolProgress, Mapped, Nothing, Yes),
    row(Type::ToolUseSummary, Mapped, TeamScan, Yes),
    row(Type::AuthStatus, Mapped, Nothing, Yes),
    row(Type::ConfigurationChange, Mapped, Taken, Yes),
    row(Type::SessionLifecycle, Mapped, Taken, Yes),
    row(Type::UserMessage, Mapped, Nothing, Yes),
    row(Type::PermissionResponse, Mapped, Pending, Yes),
    row(Type::Interrupt, Outbound, Nothing, No),
    row(Type::TeamMessage, Taxonomy, Correlated, TeamDiff),
    row(Type::TeamTaskUpdate, Taxonomy, Correlated, TeamDiff),
    row(Type::TeamStateChange, Taxonomy, Correlated, TeamDiff),
    row(Type::Unknown, Printed, Nothing, No),
];

/// What becomes of messages of a type.
#[must_use]
pub fn route(kind: MessageType) -> Handling {
    ROUTES.iter().find(|route| route.kind == kind).map_or(Traced, |route| route.handling)
}

impl Route {
    /// The columns of the table, in the words of the specification: router, mapper, reducer, broadcast.
    #[must_use]
    pub fn columns(&self) -> [&'static str; 4] {
        let (router, mapper) = match self.handling {
            Direct => ("YES", "— (direct)"),
            Mapped => ("YES", "YES"),
            Filtered => ("YES", "YES (filtered)"),
            Delegated => ("YES (delegates)", "—"),
            Outbound => ("NO", "NO"),
            Taxonomy => ("NO — taxonomy only", "NO"),
            Traced => ("default (traced)", "NO"),
            Printed => ("default (traced)", "process output only"),
        };
        let reducer = match self.reducer {
            Nothing => "—",
            Taken => "YES",
            Stub => "YES (stub)",
            TeamScan => "YES (team scan)",
            Correlated => "YES (via correlation)",
            Pending => "YES (pending)",
        };
        let broadcast = match self.broadcast {
            Yes => "YES",
            No => "NO",
            TeamDiff => "YES (via team diff)",
        };
        [router, mapper, reducer, broadcast]
    }
}
