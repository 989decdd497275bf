//! The Agent Client Protocol (JSON-RPC, version 1) between editors and agents. This module writes the agent's side:
//! session updates and requests to the user.

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

pub use offers::{AgentConfigOptions, MODE_OPTION_ID, MODEL_OPTION_ID};
pub use project::{AcpClientCapabilities, AcpProjection};
pub use requests::{AcpRequestKind, chosen_label, form_answers, is_allow_option, request_kind};
pub use turns::{stop_reason, token_usage};
pub use wire::{ConfigOption, Modes, StopReason, TokenUsage};

use crate::{Dialect, saved::restore_projection};

/// The ACP dialect.
pub const DIALECT: Dialect = Dialect {
    name: "acp",
    title: "the Agent Client Protocol: session/update, session/request_permission, …",
    projection: || Box::new(AcpProjection::default()),
    restore: restore_projection::<AcpProjection>,
    revision: 2,
    verbatim: false,
    schema: |_| schema::message_schema(),
};
