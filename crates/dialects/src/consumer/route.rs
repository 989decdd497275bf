//! The routing tables: how each message type is handled. One table reflects the specification, the other this
//! implementation; the code uses the second and the documentation shows both.

use BroadcastRule::{No, TeamDiff, Yes};
use MessageHandling::{Delegated, Direct, Filtered, Mapped, Outbound, Printed, Taxonomy, Traced};
use StateReduction::{Correlated, None as Nothing, Pending, Stub, Taken, TeamScan};
use UnifiedMessageType as Type;

use super::unified::UnifiedMessageType;

/// How messages of one type are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRoute {
    /// The message type.
    pub kind: UnifiedMessageType,
    /// The component that writes the consumer message.
    pub handling: MessageHandling,
    /// How the state is updated.
    pub reducer: StateReduction,
    /// Whether consumers receive it.
    pub broadcast: BroadcastRule,
}

/// The component that writes the consumer message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageHandling {
    /// Written by the router itself.
    Direct,
    /// Written by the mapper.
    Mapped,
    /// Written by the mapper, which withholds some.
    Filtered,
    /// Not sent; only used for the state.
    Delegated,
    /// Not sent; consumers send it themselves.
    Outbound,
    /// Not sent; it classifies tool calls and is never a message.
    Taxonomy,
    /// Not sent; it remains in the log.
    Traced,
    /// Like `Traced`, but process output is passed on.
    Printed,
}

/// How a message updates the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateReduction {
    /// No update.
    None,
    /// The message itself is applied.
    Taken,
    /// No update yet.
    Stub,
    /// Its team tool calls are applied.
    TeamScan,
    /// No update of its own; the team scan finds its tool calls.
    Correlated,
    /// The open requests are updated.
    Pending,
}

/// Whether consumers receive a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroadcastRule {
    /// Sent to all consumers.
    Yes,
    /// Not sent.
    No,
    /// Sent as a `session_update` of the team.
    TeamDiff,
}

const fn define_route(
    kind: Type,
    handling: MessageHandling,
    reducer: StateReduction,
    broadcast: BroadcastRule,
) -> MessageRoute {
    MessageRoute { kind, handling, reducer, broadcast }
}

/// The routing table of the specification.
pub const SPECIFIED_ROUTES: [MessageRoute; 19] = [
    define_route(Type::SessionInit, Direct, Taken, Yes),
    define_route(Type::StatusChange, Direct, Taken, Yes),
    define_route(Type::Assistant, Mapped, TeamScan, Yes),
    define_route(Type::Result, Mapped, Taken, Yes),
    define_route(Type::StreamEvent, Mapped, Nothing, Yes),
    define_route(Type::PermissionRequest, Filtered, Nothing, Yes),
    define_route(Type::ControlResponse, Delegated, Stub, No),
    define_route(Type::ToolProgress, Mapped, Nothing, Yes),
    define_route(Type::ToolUseSummary, Mapped, TeamScan, Yes),
    define_route(Type::AuthStatus, Mapped, Nothing, Yes),
    define_route(Type::ConfigurationChange, Mapped, Taken, Yes),
    define_route(Type::SessionLifecycle, Mapped, Nothing, Yes),
    define_route(Type::UserMessage, Outbound, Nothing, No),
    define_route(Type::PermissionResponse, Outbound, Nothing, No),
    define_route(Type::Interrupt, Outbound, Nothing, No),
    define_route(Type::TeamMessage, Taxonomy, Correlated, TeamDiff),
    define_route(Type::TeamTaskUpdate, Taxonomy, Correlated, TeamDiff),
    define_route(Type::TeamStateChange, Taxonomy, Correlated, TeamDiff),
    define_route(Type::Unknown, Traced, Nothing, No),
];

/// The routing table of this implementation.
pub const ROUTES: [MessageRoute; 19] = [
    define_route(Type::SessionInit, Direct, Taken, Yes),
    define_route(Type::StatusChange, Direct, Taken, Yes),
    define_route(Type::Assistant, Mapped, TeamScan, Yes),
    define_route(Type::Result, Mapped, Taken, Yes),
    define_route(Type::StreamEvent, Mapped, Nothing, Yes),
    define_route(Type::PermissionRequest, Mapped, Pending, Yes),
    define_route(Type::ControlResponse, Delegated, Taken, No),
    define_route(Type::ToolProgress, Mapped, Nothing, Yes),
    define_route(Type::ToolUseSummary, Mapped, TeamScan, Yes),
    define_route(Type::AuthStatus, Mapped, Nothing, Yes),
    define_route(Type::ConfigurationChange, Mapped, Taken, Yes),
    define_route(Type::SessionLifecycle, Mapped, Taken, Yes),
    define_route(Type::UserMessage, Mapped, Nothing, Yes),
    define_route(Type::PermissionResponse, Mapped, Pending, Yes),
    define_route(Type::Interrupt, Outbound, Nothing, No),
    define_route(Type::TeamMessage, Taxonomy, Correlated, TeamDiff),
    define_route(Type::TeamTaskUpdate, Taxonomy, Correlated, TeamDiff),
    define_route(Type::TeamStateChange, Taxonomy, Correlated, TeamDiff),
    define_route(Type::Unknown, Printed, Nothing, No),
];

/// Returns how messages of a type are handled.
#[must_use]
pub fn find_handling(kind: UnifiedMessageType) -> MessageHandling {
    ROUTES.iter().find(|route| route.kind == kind).map_or(Traced, |route| route.handling)
}

impl MessageRoute {
    /// Returns the table columns in the specification's words: router, mapper, reducer, broadcast.
    #[must_use]
    pub fn table_columns(&self) -> [&'static str; 4] {
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
