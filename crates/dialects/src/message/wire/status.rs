//! Metadata of the session status and of turn results.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Context, Origin, PlanEntry, SessionStatus, Stop, Topic, TurnStatus};

use super::{Failure, Place, Remark, Tokens};

/// What the session is doing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StatusChangeMetadata")]
pub struct StatusChange<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
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
    /// How full the context is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
    #[serde(flatten)]
    pub failure: Option<Failure<'a>>,
}

impl<'a> StatusChange<'a> {
    /// Creates a status change without details.
    pub fn new(status: SessionStatus, place: Place<'a>) -> Self {
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

/// A turn ended.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ResultMetadata")]
pub struct TurnResult<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
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
    /// How often the model was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permission_denials: Vec<Denial<'a>>,
    /// The agent's answer, where it gives one beside its messages.
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

/// Logging in.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthStatusMetadata")]
pub struct AuthStatus<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
    #[serde(flatten)]
    pub failure: Option<Failure<'a>>,
}

/// Talk between host and agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ControlResponseMetadata")]
pub struct ControlResponse<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
    #[serde(flatten)]
    pub failure: Option<Failure<'a>>,
}

/// Somebody interrupted the turn.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InterruptMetadata")]
pub struct Interrupt<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
    #[serde(flatten)]
    pub remark: Remark<'a>,
}

/// Anything else.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UnknownMetadata")]
pub struct Unknown<'a> {
    #[serde(flatten)]
    pub place: Place<'a>,
    /// What it is about.
    pub subtype: Topic,
    #[serde(flatten)]
    pub remark: Remark<'a>,
    #[serde(flatten)]
    pub failure: Option<Failure<'a>>,
}
