//! The result and token usage of a turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::unified::VerbatimJson;

/// Tokens of several turns. Input is without the cache, output includes reasoning, the total is everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct Tokens {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
    pub reasoning_tokens: u64,
    pub total_tokens: u64,
}

impl Tokens {
    /// Adds the tokens of a turn.
    pub fn add(&mut self, other: &Self) {
        let add = |into: &mut u64, more: u64| *into = into.saturating_add(more);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.cache_creation_input_tokens, other.cache_creation_input_tokens);
        add(&mut self.cache_read_input_tokens, other.cache_read_input_tokens);
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
        add(&mut self.total_tokens, other.total_tokens);
    }
}

/// Tokens in a unified message, under any of their known names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TurnTokens {
    #[serde(alias = "inputTokens")]
    input_tokens: u64,
    #[serde(alias = "outputTokens")]
    output_tokens: u64,
    #[serde(alias = "cache_creation_input_tokens")]
    cache_write_tokens: u64,
    #[serde(alias = "cache_read_input_tokens")]
    cache_read_tokens: u64,
    reasoning_tokens: u64,
    total_tokens: Option<u64>,
}

impl From<TurnTokens> for Tokens {
    fn from(told: TurnTokens) -> Self {
        let parts = [told.input_tokens, told.output_tokens, told.cache_write_tokens, told.cache_read_tokens];
        Self {
            input_tokens: told.input_tokens,
            output_tokens: told.output_tokens,
            cache_creation_input_tokens: told.cache_write_tokens,
            cache_read_input_tokens: told.cache_read_tokens,
            reasoning_tokens: told.reasoning_tokens,
            total_tokens: told.total_tokens.unwrap_or_else(|| parts.into_iter().fold(0, u64::saturating_add)),
        }
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ResultData {
    /// How it ended, in the protocol's words.
    pub subtype: ResultSubtype,
    /// It failed.
    pub is_error: bool,
    /// The agent's answer, where it gives one beside its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What went wrong on the way, the reason why it failed last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// How long the model took; 0 where the agent does not say.
    pub duration_api_ms: u64,
    /// How often the model was called; 0 where the agent does not say.
    pub num_turns: u64,
    /// What the session cost so far, this turn included.
    pub total_cost_usd: f64,
    /// What this turn cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Why the model stopped.
    #[schemars(schema_with = "super::server::text_or_null")]
    pub stop_reason: Option<String>,
    /// What this turn used.
    pub usage: Tokens,
    /// What went wrong, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What went wrong, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// `completed`, `failed` or `interrupted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The number of the turn in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tools that were not allowed to run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permission_denials: Vec<VerbatimJson>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultSubtype {
    /// Well.
    Success,
    /// It failed, or somebody stopped it.
    ErrorDuringExecution,
    /// The turn limit was reached.
    ErrorMaxTurns,
    /// The budget was used up.
    ErrorMaxBudgetUsd,
    /// The answer never had the shape that was asked for.
    ErrorMaxStructuredOutputRetries,
}
