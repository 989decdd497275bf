//! Tokens and cost. One [`Usage`] is one model reply, counted once; the sum of all that are not `cumulative` is the
//! total.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Id;

/// What a figure covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One reply of the model.
    #[default]
    Reply,
    /// All of a turn that was not reported reply by reply.
    Turn,
}

/// Tokens of one reply or of one turn. `input` never includes cache, `output` always includes reasoning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// The model reply that the figures belong to; a key is counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Id>,
    /// One reply, or what remains of a turn.
    #[serde(default)]
    pub scope: Scope,
    /// The model that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Input tokens, without those read from or written to a cache.
    #[serde(default)]
    pub input: u64,
    /// Output tokens, reasoning included.
    #[serde(default)]
    pub output: u64,
    /// Input tokens read from a cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Input tokens written to a cache for five minutes, or for a time that the agent does not say.
    #[serde(default)]
    pub cache_write_5m: u64,
    /// Input tokens written to a cache for an hour.
    #[serde(default)]
    pub cache_write_1h: u64,
    /// Output tokens that were reasoning.
    #[serde(default)]
    pub reasoning: u64,
    /// Tokens of tool use, where the agent counts them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<u64>,
    /// The cost reported by the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The agent's own input figure included the cache read (and, where it counts them, the cache writes).
    #[serde(default)]
    pub cached_in_input: bool,
    /// The agent's own output figure included reasoning.
    #[serde(default)]
    pub reasoning_in_output: bool,
    /// The figures are a running total whose base is not known: shown, not added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cumulative: bool,
}

impl Usage {
    /// Returns all tokens written to a cache.
    #[must_use]
    pub fn cache_write(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }

    /// Returns all input tokens: fresh, read from a cache, written to a cache.
    #[must_use]
    pub fn all_input(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write())
    }

    /// Returns all tokens: input, output, and tool use.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.all_input().saturating_add(self.output).saturating_add(self.tool.unwrap_or(0))
    }

    /// Returns whether nothing was used.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.all_input() == 0 && self.output == 0 && self.reasoning == 0 && self.cost_usd.is_none_or(|c| c == 0.0)
    }

    /// Returns the input tokens as the agent counts them.
    #[must_use]
    pub fn native_input(&self) -> u64 {
        if self.cached_in_input { self.all_input() } else { self.input }
    }

    /// Returns the output tokens as the agent counts them.
    #[must_use]
    pub fn native_output(&self) -> u64 {
        if self.reasoning_in_output { self.output } else { self.output.saturating_sub(self.reasoning) }
    }

    /// Adds the figures of another reply.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write_5m = self.cache_write_5m.saturating_add(other.cache_write_5m);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.tool = add_option(self.tool, other.tool, u64::saturating_add);
        self.cost_usd = add_option(self.cost_usd, other.cost_usd, |a, b| (a + b).clamp(f64::MIN, f64::MAX));
    }

    /// Subtracts the figures of `other`, never going below zero.
    #[must_use]
    pub fn saturating_sub(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write_5m: self.cache_write_5m.saturating_sub(other.cache_write_5m),
            cache_write_1h: self.cache_write_1h.saturating_sub(other.cache_write_1h),
            reasoning: self.reasoning.saturating_sub(other.reasoning),
            tool: self.tool.map(|t| t.saturating_sub(other.tool.unwrap_or(0))),
            cost_usd: self.cost_usd.map(|c| (c - other.cost_usd.unwrap_or(0.0)).max(0.0)),
            ..self.clone()
        }
    }
}

fn add_option<T>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}
