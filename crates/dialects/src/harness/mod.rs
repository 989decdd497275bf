//! The harness protocol: JSON-RPC without the `jsonrpc` field; threads, turns and typed items. The projection writes
//! the agent's notifications and requests. Client messages are only parsed here; handling them is the server's task.

mod client_message;
mod items;
mod notifications;
mod project;
mod server_message;
#[cfg(test)]
mod tests;
mod turn_items;
mod wire;

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use switchboard_event::{ApprovalMode, SandboxMode};
use wire::{Extension, Notification, Request};

use crate::Dialect;
use crate::projection::restore_projection;
use crate::table::schema_generator;

pub use client_message::{CLIENT_METHODS, Call, HarnessClientMessage, HarnessMessageError, HarnessRequestId};
pub use notifications::{HarnessRequestKind, RequestVerdict, to_config_option, to_model};
pub use server_message::{
    HarnessMessageKind, classify_message, error_response, mark_replayed, replay_completed, result_response,
    thread_started, thread_started_to_updated, warning_notice, with_message_id, with_request_id,
};
pub use wire::{
    AgentInfo, ApprovalPolicy, ApprovalResponse, Capabilities, ClientCapabilities, ClientInfo, ConfigListParams,
    ConfigListResult, ConfigMeta, ConfigOption, ConfigReadResult, ConfigSetParams, Decision, EmptyResult, ErrorData,
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
    schema: |_| server_message_schema(),
};

/// Returns the schema of client messages.
#[must_use]
pub fn client_schema() -> Value {
    client_message_schema()
}

const JSON_SCHEMA_DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Generates the schema of a result.
type SubschemaFn = fn(&mut SchemaGenerator) -> Schema;

/// The result schema of each client method.
const RESULT_SCHEMAS: &[(&str, SubschemaFn)] = &[
    ("initialize", SchemaGenerator::subschema_for::<InitializeResult>),
    ("thread/start", SchemaGenerator::subschema_for::<ThreadStartResult<'_>>),
    ("thread/resume", SchemaGenerator::subschema_for::<ThreadResumeResult<'_>>),
    ("thread/list", SchemaGenerator::subschema_for::<ThreadListResult<'_>>),
    ("thread/archive", SchemaGenerator::subschema_for::<EmptyResult>),
    ("thread/unarchive", SchemaGenerator::subschema_for::<EmptyResult>),
    ("turn/start", SchemaGenerator::subschema_for::<TurnStartResult<'_>>),
    ("turn/interrupt", SchemaGenerator::subschema_for::<EmptyResult>),
    ("model/list", SchemaGenerator::subschema_for::<ModelListResult<'_>>),
    ("config/list", SchemaGenerator::subschema_for::<ConfigListResult<'_>>),
    ("config/set", SchemaGenerator::subschema_for::<ConfigListResult<'_>>),
    ("config/read", SchemaGenerator::subschema_for::<ConfigReadResult<'_>>),
];

/// Returns the schema of a server message: a notification, request or response.
fn server_message_schema() -> Value {
    let mut generator = schema_generator();
    let notification = generator.subschema_for::<Notification<'_>>();
    let request = generator.subschema_for::<Request<'_>>();
    let extension = generator.subschema_for::<Extension<'_>>();
    let results: Map<_, _> =
        RESULT_SCHEMAS.iter().map(|(method, make)| ((*method).to_owned(), make(&mut generator).to_value())).collect();
    let mut any: Vec<_> = results.values().cloned().collect();
    any.dedup();
    let error = generator.subschema_for::<RpcError>();
    json!({
        "$schema": JSON_SCHEMA_DRAFT,
        "title": "Harness message",
        "description": "One message of the agent's side: a notification, a request with an id, or a response to a \
                        request of the client. `x-results` says which result each method has.",
        "type": "object",
        "not": {"required": ["jsonrpc"]},
        "if": {"required": ["method"]},
        "then": {"if": {"required": ["id"]}, "then": request, "else": {
            "if": {"properties": {"method": {"pattern": "^(thread|turn|item|switchboard)/"}}},
            "then": notification,
            "else": extension,
        }},
        "else": response_schema(&["Response", "ErrorResponse"], &json!(["string", "number", "null"]), &json!({ "anyOf": any }), error.as_value()),
        "x-results": results,
        "$defs": generator.take_definitions(true),
    })
}

/// Returns the schema of a client message: a request, notification or response.
fn client_message_schema() -> Value {
    let mut generator = schema_generator();
    let call = generator.subschema_for::<Call>();
    let initialized = generator.subschema_for::<InitializedParams>();
    let results = [
        generator.subschema_for::<ApprovalResponse>().to_value(),
        generator.subschema_for::<RequestResponse>().to_value(),
    ];
    let error = json!({"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}});
    let id = json!(["string", "number"]);
    json!({
        "$schema": JSON_SCHEMA_DRAFT,
        "title": "Harness client message",
        "description": "One message of a client: a request with an id, the notification `initialized`, or a response \
                        to a request of the agent.",
        "type": "object",
        "if": {"required": ["method"]},
        "then": {
            "if": {"required": ["id"]},
            "then": {"allOf": [{"properties": {"id": {"type": id}}}, call]},
            "else": {"properties": {"method": {"const": "initialized"}, "params": initialized}},
        },
        "else": response_schema(&["ClientResponse", "ClientErrorResponse"], &json!(["string"]), &json!({ "anyOf": results }), &error),
        "$defs": generator.take_definitions(true),
    })
}

/// Returns the schema of a response; the titles name its two variants in generated types.
fn response_schema(titles: &[&str; 2], id: &Value, result: &Value, error: &Value) -> Value {
    let [good, bad] = titles;
    json!({
        "required": ["id"],
        "properties": {"id": {"type": id}, "result": result, "error": error},
        "oneOf": [{"title": good, "required": ["result"]}, {"title": bad, "required": ["error"]}],
    })
}

impl From<ApprovalPolicy> for ApprovalMode {
    fn from(policy: ApprovalPolicy) -> Self {
        match policy {
            ApprovalPolicy::Never => Self::AutoAll,
            ApprovalPolicy::UnlessTrusted => Self::AskDangerous,
            ApprovalPolicy::Always => Self::Ask,
        }
    }
}

impl From<ApprovalMode> for ApprovalPolicy {
    /// The protocol has no policy for automatic edits; `UnlessTrusted` is the closest.
    fn from(mode: ApprovalMode) -> Self {
        match mode {
            ApprovalMode::AutoAll => Self::Never,
            ApprovalMode::AskDangerous | ApprovalMode::AutoEdit => Self::UnlessTrusted,
            ApprovalMode::Ask => Self::Always,
        }
    }
}

/// Sandbox settings of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The writable area.
    pub mode: SandboxMode,
    /// Writable directories in addition to the workspace.
    pub writable_roots: Vec<String>,
    /// Whether network access is allowed; none if not specified.
    pub network_access: Option<bool>,
}

impl From<SandboxPolicy> for SandboxSettings {
    fn from(policy: SandboxPolicy) -> Self {
        let only = |mode| Self { mode, ..Self::default() };
        match policy {
            SandboxPolicy::DangerFullAccess => only(SandboxMode::FullAccess),
            SandboxPolicy::ReadOnly => only(SandboxMode::ReadOnly),
            SandboxPolicy::WorkspaceWrite { writable_roots, network_access } => Self {
                mode: SandboxMode::WorkspaceWrite,
                writable_roots: writable_roots.unwrap_or_default(),
                network_access,
            },
            SandboxPolicy::ExternalSandbox { network_access } => Self {
                network_access: network_access.map(|access| access == NetworkAccess::Enabled),
                ..only(SandboxMode::None)
            },
        }
    }
}

impl From<SandboxSettings> for SandboxPolicy {
    fn from(sandbox: SandboxSettings) -> Self {
        let access = |enabled| if enabled { NetworkAccess::Enabled } else { NetworkAccess::Restricted };
        match sandbox.mode {
            SandboxMode::FullAccess => Self::DangerFullAccess,
            SandboxMode::ReadOnly => Self::ReadOnly,
            SandboxMode::WorkspaceWrite => Self::WorkspaceWrite {
                writable_roots: Some(sandbox.writable_roots).filter(|roots| !roots.is_empty()),
                network_access: sandbox.network_access,
            },
            SandboxMode::None => Self::ExternalSandbox { network_access: sandbox.network_access.map(access) },
        }
    }
}

#[cfg(test)]
mod schema_tests {
    use serde_json::json;

    use super::{CLIENT_METHODS, RESULT_SCHEMAS, client_message_schema, *};

    #[test]
    fn every_method_has_a_result() {
        let described: Vec<_> = RESULT_SCHEMAS.iter().map(|(method, _)| *method).collect();
        assert_eq!(described, CLIENT_METHODS);
    }

    #[test]
    fn the_schema_of_clients_is_what_is_read() {
        let validator = jsonschema::validator_for(&client_message_schema()).unwrap();
        for (message, valid) in [
            (json!({"id": 1, "method": "thread/start", "params": {}}), true),
            (json!({"id": "a", "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "u"}}), true),
            (json!({"method": "initialized", "params": {}}), true),
            (json!({"id": "r", "result": {"decision": "accept"}}), true),
            (json!({"id": "r", "result": {"outcome": "answered", "answers": {"q": ["a"]}}}), true),
            (json!({"id": "r", "error": {"code": 1, "message": "no"}}), true),
            (json!({"id": null, "method": "thread/start", "params": {}}), false),
            (json!({"id": 1, "method": "no/such", "params": {}}), false),
            (json!({"id": 1, "method": "turn/start", "params": {"threadId": "t"}}), false),
            (json!({"id": "r", "result": {}}), false),
            (json!({"id": "r", "result": {"decision": "accept"}, "error": {"message": "x"}}), false),
            (json!({"id": 1}), false),
        ] {
            assert_eq!(validator.is_valid(&message), valid, "{message}");
        }
    }

    #[test]
    fn what_a_client_sets_is_what_it_reads() {
        for policy in [ApprovalPolicy::Never, ApprovalPolicy::UnlessTrusted, ApprovalPolicy::Always] {
            assert_eq!(ApprovalPolicy::from(ApprovalMode::from(policy)), policy);
        }
        for policy in [
            json!({"type": "dangerFullAccess"}),
            json!({"type": "readOnly"}),
            json!({"type": "workspaceWrite"}),
            json!({"type": "workspaceWrite", "writableRoots": ["/a"], "networkAccess": false}),
            json!({"type": "externalSandbox"}),
            json!({"type": "externalSandbox", "networkAccess": "restricted"}),
            json!({"type": "externalSandbox", "networkAccess": "enabled"}),
        ] {
            let given: SandboxPolicy = serde_json::from_value(policy.clone()).unwrap();
            let back = SandboxPolicy::from(SandboxSettings::from(given));
            assert_eq!(serde_json::to_value(back).unwrap(), policy);
        }
    }

    #[test]
    fn policies_mean_what_ours_mean() {
        assert_eq!(ApprovalMode::from(ApprovalPolicy::Never), ApprovalMode::AutoAll);
        assert_eq!(ApprovalMode::from(ApprovalPolicy::UnlessTrusted), ApprovalMode::AskDangerous);
        assert_eq!(ApprovalMode::from(ApprovalPolicy::Always), ApprovalMode::Ask);
        assert_eq!(ApprovalPolicy::from(ApprovalMode::AutoEdit), ApprovalPolicy::UnlessTrusted);
        assert_eq!(
            SandboxSettings::from(SandboxPolicy::ExternalSandbox { network_access: None }).mode,
            SandboxMode::None
        );
    }
}
