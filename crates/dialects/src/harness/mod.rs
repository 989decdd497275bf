//! The harness protocol: JSON-RPC without the `jsonrpc` field; threads, turns and typed items. The projection writes
//! the agent's notifications and requests. Client messages are only parsed here; handling them is the server's task.

mod approvals;
mod client_message;
mod items;
mod notices;
mod policy;
mod project;
mod schema;
mod server_message;
#[cfg(test)]
mod tests;
mod turn_items;
mod wire;

use crate::{Dialect, projection::restore_projection};

pub use approvals::{HarnessRequestKind, RequestVerdict};
pub use client_message::{CLIENT_METHODS, Call, HarnessClientMessage, HarnessMessageError, HarnessRequestId};
pub use notices::{to_config_option, to_model};
pub use policy::SandboxSettings;
pub use server_message::{
    HarnessMessageKind, classify_message, error_response, mark_replayed, replay_completed, result_response,
    start_as_update, thread_started, warning_notice, with_message_id, with_request_id,
};
pub use wire::{
    AgentInfo, ApprovalPolicy, ApprovalResponse, Capabilities, ClientCapabilities, ClientInfo, ConfigListParams,
    ConfigListResult, ConfigMeta, ConfigOption, ConfigReadResult, ConfigSetParams, Decision, Done, ErrorData,
    InitializeParams, InitializeResult, InitializedParams, Model, ModelListParams, ModelListResult, NetworkAccess,
    RequestResponse, ResponseOutcome, RpcError, SandboxPolicy, Thread, ThreadArchiveParams, ThreadListParams,
    ThreadListResult, ThreadMeta, ThreadResumeParams, ThreadResumeResult, ThreadStartParams, ThreadStartResult,
    TurnInterruptParams, TurnStartParams, TurnStartResult, UserInput, code,
};

/// The harness dialect.
pub const DIALECT: Dialect = Dialect {
    name: "harness",
    title: "the harness protocol: thread/started, turn/started, item/started, item/agentMessage/delta, …",
    projection: || Box::new(project::HarnessProjection::default()),
    restore: restore_projection::<project::HarnessProjection>,
    revision: 3,
    verbatim: false,
    schema: |_| schema::server_message_schema(),
};

/// Returns the schema of client messages.
#[must_use]
pub fn client_schema() -> serde_json::Value {
    schema::client_message_schema()
}
