//! Threads, their metadata and token usage.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Context, McpServer, Mode, Named, Resumed, SessionStatus};

use super::TurnId;

/// A thread was created or resumed.
#[derive(Serialize, JsonSchema)]
pub struct ThreadStarted<'a> {
    pub thread: Thread<'a>,
}

/// A conversation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thread<'a> {
    /// Its id.
    pub id: &'a str,
    /// A short summary; empty where nothing was said yet.
    pub preview: &'a str,
    /// Empty where it is not known.
    pub model_provider: &'a str,
    /// Seconds since 1970.
    pub created_at: i64,
    /// What else is known about it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<ThreadMeta<'a>>,
}

/// What else is known about a thread.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadMeta<'a> {
    /// The agent.
    pub agent: &'a str,
    /// Which process of the thread, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
    /// The agent's own id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<&'a str>,
    /// What it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<&'a Resumed>,
    /// What the agent said about itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<ThreadInfo<'a>>,
    /// The folder that it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
    /// What it is doing, or what became of it: `running`, `waiting`, `idle`, `done`, `failed`, `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'a str>,
    /// What to call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    /// How many turns it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// When something happened last, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    /// It was put away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// What an agent says about itself. What is not known, or did not change, is not there.
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
    /// How full the context is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// What it can do, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub capabilities: Option<&'a RawValue>,
}

/// A model that can be set.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model<'a> {
    /// What to set.
    pub id: &'a str,
    /// What to show.
    pub display_name: &'a str,
    /// What it is good for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// It is used where none is named.
    pub is_default: bool,
}

/// A setting with a fixed list of values.
#[derive(Serialize, JsonSchema)]
pub struct ConfigOption<'a> {
    /// What sort it is.
    #[serde(rename = "type")]
    pub kind: ConfigKind,
    /// What to set.
    pub id: &'a str,
    /// What to show.
    pub name: &'a str,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// Where it belongs in a list of settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
    /// The values it can have.
    pub options: Vec<ConfigSelectOption<'a>>,
    /// The value it has.
    pub value: &'a str,
}

/// What sort of setting it is.
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

/// What the turn used so far.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageUpdated<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub usage: TokenUsage<'a>,
}

/// Tokens. Input is without the cache, output includes thinking.
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
    /// Ours: tokens of tool use, where the agent counts them apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_tokens: Option<u64>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<UsageMeta<'a>>,
}

/// What else is known about what was used.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageMeta<'a> {
    /// The model of the latest figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    /// What the agent says it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
