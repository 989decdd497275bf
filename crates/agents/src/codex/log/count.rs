//! Token counts as Codex reports them: input includes the cache, output includes reasoning.

use serde::{Deserialize, Serialize};
use switchboard_event::{Scope, Usage};

use crate::{JsonObject, JsonView, codex::usage};

/// Token counts of a reply, or of a thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodexTokenCounts {
    pub input: u64,
    pub cached: u64,
    pub written: u64,
    pub output: u64,
    pub reasoning: u64,
}

impl CodexTokenCounts {
    /// Parses the counts of an object. Returns `None` if input or output is not a number; other missing counts keep
    /// their previous values.
    pub fn parse(fields: &JsonObject<'_>, before: &Self) -> Option<Self> {
        let number = |name: &str| fields.get(name).and_then(JsonView::as_u64);
        Some(Self {
            input: number("input_tokens")?,
            cached: number("cached_input_tokens").unwrap_or(before.cached),
            written: number("cache_write_input_tokens").unwrap_or(before.written),
            output: number("output_tokens")?,
            reasoning: number("reasoning_output_tokens").unwrap_or(before.reasoning),
        })
    }

    /// Subtracts `base`, never below zero.
    pub fn saturating_sub(&self, base: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(base.input),
            cached: self.cached.saturating_sub(base.cached),
            written: self.written.saturating_sub(base.written),
            output: self.output.saturating_sub(base.output),
            reasoning: self.reasoning.saturating_sub(base.reasoning),
        }
    }

    pub fn saturating_add(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            written: self.written.saturating_add(other.written),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }

    /// A running total only grows: a lower one restarted.
    pub fn is_below(&self, other: &Self) -> bool {
        self.input < other.input || self.output < other.output
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    pub fn build_usage(&self, model: Option<&str>) -> Usage {
        usage::split_usage(usage::InclusiveTokenCounts {
            scope: Scope::Reply,
            model,
            input: self.input,
            output: self.output,
            cache_read: self.cached.min(self.input),
            cache_write: self.written,
            reasoning: self.reasoning,
        })
    }
}

#[cfg(test)]
mod tests {

    use super::CodexTokenCounts;
    use crate::JsonView;

    fn parse_counts(text: &str, before: CodexTokenCounts) -> Option<CodexTokenCounts> {
        CodexTokenCounts::parse(&JsonView::parse(text).unwrap().as_object(), &before)
    }

    #[test]
    fn what_is_not_said_is_as_before() {
        let before = CodexTokenCounts { input: 10, cached: 4, written: 1, output: 2, reasoning: 1 };
        let now = parse_counts(r#"{"input_tokens":20,"cached_input_tokens":null,"output_tokens":5}"#, before);
        assert_eq!(now, Some(CodexTokenCounts { input: 20, output: 5, ..before }));
        assert_eq!(parse_counts(r#"{"input_tokens":null,"output_tokens":5}"#, before), None);
    }

    #[test]
    fn figures_beyond_32_bits() {
        let much = parse_counts(
            r#"{"input_tokens":9007199254740993,"output_tokens":5000000000}"#,
            CodexTokenCounts::default(),
        )
        .unwrap();
        assert_eq!((much.input, much.output), (9_007_199_254_740_993, 5_000_000_000));
    }

    #[test]
    fn the_cache_is_part_of_the_input() {
        let usage =
            CodexTokenCounts { input: 100, cached: 40, written: 10, output: 20, reasoning: 5 }.build_usage(None);
        assert_eq!((usage.input, usage.cache_read, usage.cache_write_5m, usage.reasoning), (50, 40, 10, 5));
        assert_eq!((usage.native_input(), usage.native_output()), (100, 20));
    }
}
