//! Threads and turns.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;
use switchboard_event::{Context, Denied, ErrorCode, McpServer, Mode, Named, Origin, Resumed, SessionStatus, Stop};

use super::{PlanEntry, ThreadItem};

/// A thread was created or resumed.
#[derive(Serialize, JsonSchema)]
pub struct ThreadStarted<'a> {
    pub thread: Thread<'a>,
}

/// A conversation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread<'a> {
    /// The ID.
    pub id: &'a str,
    /// A short summary; empty before the first prompt.
    pub preview: &'a str,
    /// Empty if unknown.
    pub model_provider: &'a str,
    /// Seconds since 1970.
    pub created_at: i64,
    /// Additional information.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<ThreadMeta<'a>>,
}

/// Additional information about a thread.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMeta<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The number of the agent's process in the thread, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
    /// The agent's own session ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<&'a str>,
    /// What it resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<&'a Resumed>,
    /// The agent's session info.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<ThreadInfo<'a>>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
    /// The state: `running`, `waiting`, `idle`, `done`, `failed` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'a str>,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    /// The number of turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// The time of the last event, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    /// Whether it is archived.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// Information that an agent reports about itself. Unknown and unchanged fields are absent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadInfo<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub tools: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub commands: &'a [Named],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub modes: &'a [Mode],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Model<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<ConfigOption<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub mcp_servers: &'a [McpServer],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub agents: &'a [Named],
    /// The use of the context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Its capabilities in its own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub capabilities: Option<&'a RawValue>,
}

/// An available model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model<'a> {
    /// The ID to set.
    pub id: &'a str,
    /// The name to display.
    pub display_name: &'a str,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// Whether it is the default.
    pub is_default: bool,
}

/// A setting with a fixed list of values.
#[derive(Serialize, JsonSchema)]
pub struct ConfigOption<'a> {
    /// The kind of setting.
    #[serde(rename = "type")]
    pub kind: ConfigKind,
    /// The ID to set.
    pub id: &'a str,
    /// The name to display.
    pub name: &'a str,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// The group in a list of settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
    /// The available values.
    pub options: Vec<ConfigSelectOption<'a>>,
    /// The current value.
    pub value: &'a str,
}

/// The kind of setting.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConfigKind {
    Select,
}

/// One value of a setting.
#[derive(Serialize, JsonSchema)]
pub struct ConfigSelectOption<'a> {
    pub id: &'a str,
    pub name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
}

/// The token usage of the turn so far.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageUpdated<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub usage: TokenUsage<'a>,
}

/// Token counts. Input excludes the cache, output includes reasoning.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage<'a> {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Ours: tokens of tool use, if the agent counts them separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_tokens: Option<u64>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<UsageMeta<'a>>,
}

/// Additional information about the usage.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageMeta<'a> {
    /// The model of the latest usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    /// The cost reported by the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

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

/// A turn has started or ended.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnNotification<'a> {
    pub thread_id: &'a str,
    pub turn: Turn<'a>,
}

/// A prompt and everything that follows from it.
#[derive(Serialize, JsonSchema)]
pub struct Turn<'a> {
    pub id: TurnId,
    pub status: TurnStatus,
    /// When the turn ends: all its items in the order of their start.
    pub items: Vec<ThreadItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError<'a>>,
    #[serde(rename = "_meta")]
    pub meta: TurnMeta<'a>,
}

/// The status of a turn.
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
    /// The kind of error, such as `ContextWindowExceeded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_info: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status_code: Option<u16>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<ErrorMeta<'a>>,
}

/// Additional information about an error.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorMeta<'a> {
    pub code: ErrorCode,
    /// The agent's own name of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<&'a str>,
    /// Whether a retry may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// Additional information about a turn.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnMeta<'a> {
    /// What started the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<&'a str>,
    /// The agent's own turn ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_turn: Option<&'a str>,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The number of model calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The tool calls that were denied.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub denied: &'a [Denied],
    /// The agent's answer, if it is reported separately from messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a str>,
    /// The number of first items that were dropped, because there were too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_items: Option<u64>,
}

/// The plan has changed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanUpdated<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    /// The reason for the change; empty if the agent does not report it.
    pub explanation: &'a str,
    pub plan: &'a [PlanEntry],
}

/// An item has started or is complete.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemNotification<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub item: &'a ThreadItem,
}
