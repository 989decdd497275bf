//! Turns: a prompt and everything that results from it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use switchboard_event::{Denied, ErrorCode, Origin, Stop};

use super::{PlanEntry, ThreadItem};

/// A turn id: `turn_` and the number of the turn in the thread. Events before the first turn are in `turn_0`, which
/// neither starts nor ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnId(pub u32);

impl Serialize for TurnId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("turn_{}", self.0))
    }
}

impl<'de> Deserialize<'de> for TurnId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = Cow::<str>::deserialize(deserializer)?;
        let number = id.strip_prefix("turn_").and_then(|number| number.parse().ok());
        number.map(Self).ok_or_else(|| D::Error::custom("not the id of a turn"))
    }
}

impl JsonSchema for TurnId {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "TurnId".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^turn_[0-9]+$"})
    }
}

/// A turn began or ended.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnNotification<'a> {
    pub thread_id: &'a str,
    pub turn: Turn<'a>,
}

/// One prompt and all that follows from it.
#[derive(Serialize, JsonSchema)]
pub struct Turn<'a> {
    pub id: TurnId,
    pub status: TurnStatus,
    /// When it ends: all its items in the order in which they began.
    pub items: Vec<ThreadItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError<'a>>,
    #[serde(rename = "_meta")]
    pub meta: TurnMeta<'a>,
}

/// How far a turn got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    InProgress,
    Completed,
    Interrupted,
    Failed,
}

/// Why a turn failed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnError<'a> {
    pub message: &'a str,
    /// What it is, such as `ContextWindowExceeded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_info: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status_code: Option<u16>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<ErrorMeta<'a>>,
}

/// What else is known about an error.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorMeta<'a> {
    pub code: ErrorCode,
    /// The agent's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<&'a str>,
    /// Trying again may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// What else is known about a turn.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnMeta<'a> {
    /// What began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<&'a str>,
    /// The agent's own id of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_turn: Option<&'a str>,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How often the model was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tools that were not allowed to run.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub denied: &'a [Denied],
    /// The agent's answer, where it gives one beside its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a str>,
    /// How many of the first items are not here, because there were too many to keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_items: Option<u64>,
}

/// The plan is now this.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanUpdated<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    /// Why it changed; empty where the agent does not say.
    pub explanation: &'a str,
    pub plan: &'a [PlanEntry],
}

/// An item began or is finished.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemNotification<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub item: &'a ThreadItem,
}
