//! The Agent Client Protocol, in which editors speak with agents: JSON-RPC, version 1 of the protocol. Here is what the
//! agent's side says of itself: updates of a session, and what it asks of the user.

mod cards;
mod diffs;
mod notices;
mod offers;
mod project;
mod requests;
mod schema;
mod speech;
#[cfg(test)]
mod tests;
mod tools;
mod turns;
mod wire;

pub use offers::{MODE, MODEL, Offered};
pub use project::{Abilities, Updates};
pub use requests::{Asked, allows, answers, asked, choice};
pub use turns::{stop_reason, tokens};
pub use wire::{ConfigOption, Modes, StopReason, TokenUsage};

use crate::{Dialect, saved::restored};

/// The Agent Client Protocol.
pub const DIALECT: Dialect = Dialect {
    name: "acp",
    title: "the Agent Client Protocol: session/update, session/request_permission, …",
    projection: || Box::new(Updates::default()),
    restore: restored::<Updates>,
    revision: 2,
    verbatim: false,
    schema: |_| schema::schema(),
};
