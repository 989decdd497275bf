//! The harness protocol: JSON-RPC without the `jsonrpc` field; threads, turns and typed items. Both sides are here: the
//! projection gives what the agent's side sends of its own accord (notifications and requests), `accept.rs` reads what a
//! client sends. What is done about that is the server's.

mod accept;
mod approvals;
mod items;
mod kept;
mod look;
mod notices;
mod policy;
mod project;
mod retell;
mod say;
mod schema;
#[cfg(test)]
mod tests;
mod verdict;
mod wire;

pub use accept::{Call, Incoming, METHODS, Refused, RequestId};
pub use look::{Said, look};
pub use notices::{model, option};
pub use policy::Sandbox;
pub use retell::{asked_as, replayed, resolved_as, updated};
pub use say::{failed, history_told, result, thread_started, warning};
pub use verdict::{Asked, Verdict};
pub use wire::{
    AgentInfo, ApprovalPolicy, ApprovalResponse, Capabilities, ClientCapabilities, ClientInfo, ConfigListParams,
    ConfigListResult, ConfigMeta, ConfigOption, ConfigReadResult, ConfigSetParams, Decision, Done, ErrorData,
    InitializeParams, InitializeResult, InitializedParams, Model, ModelListParams, ModelListResult, NetworkAccess,
    RequestResponse, ResponseOutcome, RpcError, SandboxPolicy, Thread, ThreadArchiveParams, ThreadListParams,
    ThreadListResult, ThreadMeta, ThreadResumeParams, ThreadResumeResult, ThreadStartParams, ThreadStartResult,
    TurnInterruptParams, TurnStartParams, TurnStartResult, UserInput, code,
};

use crate::{Dialect, saved::restored};

/// The harness protocol.
pub const DIALECT: Dialect = Dialect {
    name: "harness",
    title: "the harness protocol: thread/started, turn/started, item/started, item/agentMessage/delta, …",
    projection: || Box::new(project::Harness::default()),
    restore: restored::<project::Harness>,
    revision: 3,
    verbatim: false,
    schema: |_| schema::schema(),
};

/// The schema of what a client sends.
#[must_use]
pub fn client_schema() -> serde_json::Value {
    schema::client()
}
