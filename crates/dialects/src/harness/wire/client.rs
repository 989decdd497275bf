//! Requests of clients, their results, and responses to the agent's requests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::ApprovalMode;

use super::{ConfigOption, Model, Thread, Turn, UserInput};
use crate::projection::read_present;

/// The first request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The client.
    pub client_info: ClientInfo,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<ClientCapabilities>,
}

/// The client.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClientInfo {
    /// The name for programs.
    pub name: String,
    /// The name to display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version.
    pub version: String,
}

/// What a client can do.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// Whether it uses experimental features. There are none at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimental_api: Option<bool>,
}

/// The client is ready.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct InitializedParams {}

/// The parameters of a new thread.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartParams {
    /// A model of `model/list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The working directory, an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the agent may do without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// The sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxPolicy>,
    /// Ours: the agent, if it is not the connection's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Ours: values of selectors of `config/list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, String>>,
    /// Ours: the program and its arguments, for an agent that is given by its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

/// The thread to resume.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeParams {
    /// Which.
    pub thread_id: String,
    /// Another model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Another working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Which threads to list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ThreadListParams {
    /// The `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The maximum number of threads: 25 by default, at most 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// List archived threads instead of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// The thread to archive or unarchive.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArchiveParams {
    /// Which.
    pub thread_id: String,
}

/// A prompt. Settings in it apply to the thread from now on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartParams {
    /// The thread.
    pub thread_id: String,
    /// The text and the images.
    pub input: Vec<UserInput>,
    /// Another model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Another working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the agent may do without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// The sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Values of selectors of `config/list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, String>>,
}

/// The turn to stop.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnInterruptParams {
    /// The thread.
    pub thread_id: String,
    /// The turn.
    pub turn_id: String,
}

/// The thread or agent whose models are listed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListParams {
    /// The maximum number of results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Ours: the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Ours: the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The thread or agent whose settings are meant; otherwise those of new threads on this connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigListParams {
    /// Ours: the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Ours: the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The selector to set.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSetParams {
    /// Which.
    pub id: String,
    /// The ID of one of its options.
    pub value: String,
    /// Ours: the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Ours: the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// What the agent may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalPolicy {
    /// Everything.
    Never,
    /// Everything that is not dangerous.
    UnlessTrusted,
    /// Nothing.
    Always,
}

/// The sandbox of the agent and its processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SandboxPolicy {
    /// No sandbox; disables the agent's own, too.
    DangerFullAccess,
    /// Nothing can be written.
    ReadOnly,
    /// Only the workspace can be written.
    WorkspaceWrite {
        /// Additional writable directories.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        writable_roots: Option<Vec<String>>,
        /// Whether the network is accessible.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network_access: Option<bool>,
    },
    /// The client has a sandbox, so Switchboard adds none.
    ExternalSandbox {
        /// The network access that the client allows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network_access: Option<NetworkAccess>,
    },
}

/// The network access in a client's own sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NetworkAccess {
    /// Restricted.
    Restricted,
    /// Everything.
    Enabled,
}

/// The agent and its capabilities.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The agent.
    pub agent_info: AgentInfo,
    /// What it can do.
    pub capabilities: Capabilities,
}

/// The agent of the connection; Switchboard itself if there is none.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentInfo {
    /// The name, as in `agent`.
    pub name: String,
    /// The version of the program; `unknown` if it does not report one.
    pub version: String,
    /// The maker.
    pub provider: String,
}

/// The capabilities of the connection's agent.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has them so")]
pub struct Capabilities {
    /// Whether text is streamed.
    pub streaming: bool,
    /// Whether it has selectors: `config/list` and `config/set`.
    pub config_options: bool,
    /// Whether it reports reasoning.
    pub reasoning: bool,
    /// Whether it reports plans.
    pub plans: bool,
    /// Whether `review/start` is available.
    pub review: bool,
}

/// A thread that was started.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartResult<'a> {
    /// The thread.
    pub thread: Thread<'a>,
    /// The provider of the model; empty if unknown.
    pub model_provider: &'a str,
}

/// A thread that was resumed.
#[derive(Serialize, JsonSchema)]
pub struct ThreadResumeResult<'a> {
    /// The thread.
    pub thread: Thread<'a>,
}

/// A page of threads, newest first.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadListResult<'a> {
    /// The threads.
    pub data: Vec<Thread<'a>>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A turn that was started.
#[derive(Serialize, JsonSchema)]
pub struct TurnStartResult<'a> {
    /// The turn.
    #[schemars(with = "Turn<'a>")]
    pub turn: &'a RawValue,
}

/// An empty result.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Done")]
pub struct EmptyResult {}

/// The available models; one of them is the default.
#[derive(Serialize, JsonSchema)]
pub struct ModelListResult<'a> {
    /// The models.
    pub data: Vec<Model<'a>>,
}

/// All selectors and their values.
#[derive(Serialize, JsonSchema)]
pub struct ConfigListResult<'a> {
    /// The selectors.
    pub options: Vec<ConfigOption<'a>>,
}

/// The effective settings.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadResult<'a> {
    /// The model; empty if the agent does not report it.
    pub model: &'a str,
    /// The folder to work in.
    pub cwd: &'a str,
    /// What the agent may do without asking.
    pub approval_policy: ApprovalPolicy,
    /// The sandbox.
    pub sandbox_policy: SandboxPolicy,
    /// The selectors.
    pub options: Vec<ConfigOption<'a>>,
    /// Additional information.
    #[serde(rename = "_meta")]
    pub meta: ConfigMeta<'a>,
}

/// Additional information about the settings.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMeta<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The approval mode, which distinguishes more cases than the policy.
    pub approval_mode: ApprovalMode,
}

/// The response to an approval request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalResponse {
    /// The decision.
    pub decision: Decision,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// Accept it once.
    Accept,
    /// Accept it and similar requests until the agent ends.
    AcceptForSession,
    /// Decline it; the turn continues.
    Decline,
    /// Decline it and stop the turn.
    Cancel,
}

/// The response to any other request of the agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RequestResponse {
    /// The outcome.
    pub outcome: ResponseOutcome,
    /// One of the options that the agent offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The answers, by the id of the question.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Vec<String>>,
    /// A changed input to allow instead of the requested one.
    #[serde(default, deserialize_with = "read_present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub input: Option<Box<RawValue>>,
    /// A message for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseOutcome {
    /// Allow the request.
    Allowed,
    /// The questions were answered.
    Answered,
    /// Decline it; the turn continues.
    Declined,
    /// Decline it and stop the turn.
    Cancelled,
}
