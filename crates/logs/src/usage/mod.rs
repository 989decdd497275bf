//! Usage and cost of a [`UsageLedger`](crate::UsageLedger), in which each reply occurs once. Pure functions.
//!
//! [`aggregate_usage`] returns a [`Usage`] with a [`Row`] per day, model, tool and so on ([`UsageGrouping`]), which
//! servers send too. [`TokenPrices`] has the prices of tokens.

mod aggregate;
mod csv;
mod periods;
pub mod prices;
mod rows;
mod sums;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_event::Timestamp;

pub(crate) use aggregate::UsageAggregator;
pub use aggregate::{UsageQuestion, aggregate_usage};
pub use csv::usage_csv;
pub use prices::{PriceFileError, TokenPrices};
pub use rows::{UsageGrouping, UsageOrder};
pub use sums::CostCalculator;

/// What was used, put together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageReport")]
pub struct Usage {
    /// One for each day, model, tool and so on.
    pub rows: Vec<Row>,
    /// All of it, each reply once; its key is `total`.
    pub total: Row,
    /// Models without a known price, the most used first. They are not in `costUsd`.
    pub unpriced: Vec<Unpriced>,
    /// From when the prices are that came with this version.
    pub prices_of: String,
}

/// What some replies used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageRow")]
pub struct Row {
    /// The day, the model, the tool and so on.
    pub key: String,
    /// By session: what it is called, or the first thing that a person said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// By session: the folder that it began in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Tokens in, without those of the cache.
    pub input_tokens: u64,
    /// Tokens out, with those of reasoning.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens written to the cache, however long they stay.
    pub cache_write_tokens: u64,
    /// Tokens of reasoning, part of `outputTokens`.
    pub reasoning_tokens: u64,
    /// In, out, cache read and cache write.
    pub total_tokens: u64,
    /// Replies of models. A reply that called several tools is one in the row of each.
    pub replies: u64,
    /// What the agent says it cost, else what the tokens cost at list prices; without models that have no price, which are
    /// in `unpricedModels`.
    pub cost_usd: f64,
    /// Of `cacheWriteTokens`, those that stay for an hour.
    #[serde(rename = "cacheWrite1hTokens")]
    pub cache_write_1h_tokens: u64,
    /// Calls, by tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// When the first reply was.
    pub first_at: Option<Timestamp>,
    /// When the last reply was.
    pub last_at: Option<Timestamp>,
    /// Whose replies these are.
    pub agents: Vec<String>,
    /// What gave them, the most used first.
    pub models: Vec<String>,
    /// Of these, those without a price: the rest alone is in `costUsd`.
    pub unpriced_models: Vec<String>,
    /// Where the day, week or month begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// Where it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    /// What there is to say of a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// The same by model, if it was asked for; the most used first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakdown: Vec<Model>,
}

/// What one model used of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageModel")]
pub struct Model {
    /// The model.
    pub model: String,
    /// Tokens in, without those of the cache.
    pub input_tokens: u64,
    /// Tokens out, with those of reasoning.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens written to the cache.
    pub cache_write_tokens: u64,
    /// Tokens of reasoning, part of `outputTokens`.
    pub reasoning_tokens: u64,
    /// In, out, cache read and cache write.
    pub total_tokens: u64,
    /// Replies.
    pub replies: u64,
    /// What they cost.
    pub cost_usd: f64,
    /// Of `cacheWriteTokens`, those that stay for an hour.
    #[serde(rename = "cacheWrite1hTokens")]
    pub cache_write_1h_tokens: u64,
    /// The model has no price: what it cost is not known.
    pub is_unpriced: bool,
}

/// Five hours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageBlock")]
pub struct Block {
    /// When it began.
    pub start: Timestamp,
    /// When it is over.
    pub end: Timestamp,
    /// It is not over yet.
    pub is_active: bool,
    /// How fast tokens went.
    pub burn_rate: BurnRate,
    /// What the current block comes to if it goes on like that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<Projection>,
}

/// How fast tokens went, from the first reply to the last; in the current block to now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BurnRate {
    /// Tokens of all kinds a minute.
    pub tokens_per_minute: f64,
    /// Dollars an hour.
    pub cost_usd_per_hour: f64,
}

/// What a block comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageProjection")]
pub struct Projection {
    /// Tokens at its end.
    pub total_tokens: u64,
    /// Dollars at its end.
    pub cost_usd: f64,
    /// Whole minutes until then.
    pub remaining_minutes: u64,
}

/// A model without a known price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unpriced {
    /// The model.
    pub model: String,
    /// How much it used.
    pub total_tokens: u64,
    /// How many replies it gave.
    pub replies: u64,
}
