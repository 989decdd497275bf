//! Metadata of sessions and requests.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{
    About, Context, Decider, EndReason, Info, McpServer, Mode, Model, Named, Origin, Outcome, PlanEntry, Question,
    RequestOption, Resumed, Selector, SessionConfig, SessionStatus, Stop, Topic, TurnStatus,
};

use super::{Failure, FileChange, MessageScope, Remark, Tokens};

/// A run of the session has started.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionInitMetadata")]
pub struct SessionInit<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    pub agent: &'a str,
    /// The agent's own session ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<&'a str>,
    /// The number of the run, from 1.
    pub run: u32,
    /// What it resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<&'a Resumed>,
    /// The settings it was started with.
    pub config: &'a SessionConfig,
    #[serde(flatten)]
    pub facts: Facts<'a>,
    /// The use of the context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
}

/// What is known about a session.
#[derive(Serialize, JsonSchema)]
pub struct Facts<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub tools: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub commands: &'a [Named],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub modes: &'a [Mode],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub models: &'a [Model],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub options: &'a [Selector],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub mcp: &'a [McpServer],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub agents: &'a [Named],
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub capabilities: Option<&'a RawValue>,
    #[serde(rename = "authMethods", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub auth_methods: Option<&'a RawValue>,
}

impl<'a> From<&'a Info> for Facts<'a> {
    fn from(info: &'a Info) -> Self {
        Self {
            cwd: info.cwd.as_deref(),
            model: info.model.as_deref(),
            provider: info.provider.as_deref(),
            mode: info.mode.as_deref(),
            title: info.title.as_deref(),
            version: info.version.as_deref(),
            tools: &info.tools,
            commands: &info.commands,
            modes: &info.modes,
            models: &info.models,
            options: &info.options,
            mcp: &info.mcp,
            agents: &info.agents,
            capabilities: info.capabilities.as_deref(),
            auth_methods: info.auth_methods.as_deref(),
        }
    }
}

/// The session is set up differently; only what changed is there.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ConfigurationChangeMetadata")]
pub struct ConfigurationChange<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    /// The key that changed, or `several`.
    pub subtype: &'static str,
    #[serde(flatten)]
    pub facts: Facts<'a>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
}

/// A change of the session or its history.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionLifecycleMetadata")]
pub struct SessionLifecycle<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    pub subtype: LifecycleSubtype,
    /// The message or the part that is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<&'a str>,
    /// How the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
    #[serde(flatten)]
    pub failure: Option<Failure<'a>>,
}

impl<'a> SessionLifecycle<'a> {
    /// Creates lifecycle metadata without details.
    pub fn new(subtype: LifecycleSubtype, place: MessageScope<'a>) -> Self {
        Self {
            place,
            subtype,
            item_id: None,
            reason: None,
            exit_code: None,
            signal: None,
            duration_ms: None,
            remark: Remark::default(),
            failure: None,
        }
    }
}

/// What happened to a session.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LifecycleSubtype {
    SessionEnded,
    SessionCompacted,
    MessageRemoved,
    MessagePartRemoved,
}

/// A request of the agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PermissionRequestMetadata")]
pub struct PermissionRequest<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    pub subtype: RequestSubtype,
    /// What it is about.
    pub about: About,
    pub request_id: &'a str,
    /// The tool that would run; always there for `can_use_tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<&'a str>,
    /// What the tool would be given; always there for `can_use_tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub input: Option<Cow<'a, RawValue>>,
    pub title: &'a str,
    /// The reason for the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub questions: &'a [Question],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub options: &'a [RequestOption],
    /// Whether only a person may answer, and only for this request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// When the request is declined automatically, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// What the agent asks for.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestSubtype {
    /// May this tool run? Commands and changes of files are tools too.
    CanUseTool,
    Auth,
    Permissions,
    Elicitation,
    Hook,
    Other,
}

/// The answer to a request.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PermissionResponseMetadata")]
pub struct PermissionResponse<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    pub request_id: &'a str,
    pub behavior: Behavior,
    pub outcome: Outcome,
    /// Who decided.
    pub by: Decider,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<&'a str>,
    /// The option that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub updated_input: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: &'a BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
}

/// The decision.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    Allow,
    Deny,
}

/// The activity of the session.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StatusChangeMetadata")]
pub struct StatusChange<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    pub status: SessionStatus,
    /// What this is about, where it is not just another status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtype: Option<StatusSubtype>,
    /// Where compaction begins or ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_compacting: Option<bool>,
    /// What began the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<&'a str>,
    /// The plan as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<&'a [PlanEntry]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_text: Option<&'a str>,
    /// Why the plan changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<&'a str>,
    /// The use of the context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
    #[serde(flatten)]
    pub failure: Option<Failure<'a>>,
}

impl<'a> StatusChange<'a> {
    /// Creates a status change without details.
    pub fn new(status: SessionStatus, place: MessageScope<'a>) -> Self {
        Self {
            place,
            status,
            subtype: None,
            is_compacting: None,
            origin: None,
            prompt: None,
            plan: None,
            plan_text: None,
            explanation: None,
            context: None,
            remark: Remark::default(),
            failure: None,
        }
    }
}

/// What a change of status is about.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusSubtype {
    Compaction,
    Context,
    Hook,
    Plan,
    RateLimit,
    Retry,
    Status,
    Step,
    Task,
    Warning,
}

/// A turn has ended.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ResultMetadata")]
pub struct TurnResult<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    pub status: TurnStatus,
    pub stop_reason: Stop,
    #[serde(flatten)]
    pub failure: Failure<'a>,
    /// Everything that went wrong in the turn, the reason why it failed last.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub errors: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    pub usage: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub duration_ms: u64,
    /// The number of model calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permission_denials: Vec<Denial<'a>>,
    /// The agent's answer, if it is reported separately from messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a str>,
}

/// A tool that was not allowed to run.
#[derive(Serialize, JsonSchema)]
pub struct Denial<'a> {
    pub tool_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<&'a RawValue>,
}

/// The progress of a login.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthStatusMetadata")]
pub struct AuthStatus<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
    #[serde(flatten)]
    pub failure: Option<Failure<'a>>,
}

/// A message between host and agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ControlResponseMetadata")]
pub struct ControlResponse<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
    #[serde(flatten)]
    pub failure: Option<Failure<'a>>,
}

/// The turn was interrupted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InterruptMetadata")]
pub struct Interrupt<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
}

/// Anything else.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UnknownMetadata")]
pub struct Unknown<'a> {
    #[serde(flatten)]
    pub place: MessageScope<'a>,
    /// What it is about.
    pub subtype: Topic,
    #[serde(flatten)]
    pub remark: Remark<'a>,
    #[serde(flatten)]
    pub failure: Option<Failure<'a>>,
}
