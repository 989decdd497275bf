//! The harness protocol: JSON-RPC without the `jsonrpc` field; threads, turns and typed items. The projection writes
//! the agent's notifications and requests. Client messages are only parsed here; handling them is the server's task.

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

pub use accept::{CLIENT_METHODS, Call, HarnessClientMessage, HarnessMessageError, HarnessRequestId};
pub use look::{HarnessMessageKind, classify_message};
pub use notices::{to_config_option, to_model};
pub use policy::SandboxSettings;
pub use retell::{mark_replayed, start_as_update, with_message_id, with_request_id};
pub use say::{error_response, replay_completed, result_response, thread_started, warning_notice};
pub use verdict::{HarnessRequestKind, RequestVerdict};
pub use wire::{
    AgentInfo, ApprovalPolicy, ApprovalResponse, Capabilities, ClientCapabilities, ClientInfo, ConfigListParams,
    ConfigListResult, ConfigMeta, ConfigOption, ConfigReadResult, ConfigSetParams, Decision, Done, ErrorData,
    InitializeParams, InitializeResult, InitializedParams, Model, ModelListParams, ModelListResult, NetworkAccess,
    RequestResponse, ResponseOutcome, RpcError, SandboxPolicy, Thread, ThreadArchiveParams, ThreadListParams,
    ThreadListResult, ThreadMeta, ThreadResumeParams, ThreadResumeResult, ThreadStartParams, ThreadStartResult,
    TurnInterruptParams, TurnStartParams, TurnStartResult, UserInput, code,
};

use crate::{Dialect, saved::restore_projection};

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
