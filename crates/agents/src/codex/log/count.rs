//! Tokens as Codex counts them: input with the cache in it, output with reasoning in it.

use serde::{Deserialize, Serialize};
use switchboard_event::{Scope, Usage};

use super::super::usage;
use crate::{Json, Object};

/// One set of figures: of a reply, or of a thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    pub input: u64,
    pub cached: u64,
    pub written: u64,
    pub output: u64,
    pub reasoning: u64,
}

impl Count {
    /// The figures of an object; nothing if the two that matter are no numbers. What else it does not say is as before.
    pub fn of(fields: &Object<'_>, before: &Self) -> Option<Self> {
        let number = |name: &str| fields.get(name).and_then(Json::u64);
        Some(Self {
            input: number("input_tokens")?,
            cached: number("cached_input_tokens").unwrap_or(before.cached),
            written: number("cache_write_input_tokens").unwrap_or(before.written),
            output: number("output_tokens")?,
            reasoning: number("reasoning_output_tokens").unwrap_or(before.reasoning),
        })
    }

    /// What came on top of `base`, never below zero.
    pub fn minus(&self, base: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(base.input),
            cached: self.cached.saturating_sub(base.cached),
            written: self.written.saturating_sub(base.written),
            output: self.output.saturating_sub(base.output),
            reasoning: self.reasoning.saturating_sub(base.reasoning),
        }
    }

    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            written: self.written.saturating_add(other.written),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }

    /// A running total only grows: one that is lower began anew.
    pub fn is_below(&self, other: &Self) -> bool {
        self.input < other.input || self.output < other.output
    }

    /// Nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The figures as an event has them.
    pub fn usage(&self, model: Option<&str>) -> Usage {
        usage::apart(usage::Whole {
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
    use super::Count;
    use crate::Json;

    fn count(text: &str, before: Count) -> Option<Count> {
        Count::of(&Json::parse(text).unwrap().object(), &before)
    }

    #[test]
    fn what_is_not_said_is_as_before() {
        let before = Count { input: 10, cached: 4, written: 1, output: 2, reasoning: 1 };
        let now = count(r#"{"input_tokens":20,"cached_input_tokens":null,"output_tokens":5}"#, before);
        assert_eq!(now, Some(Count { input: 20, output: 5, ..before }));
        assert_eq!(count(r#"{"input_tokens":null,"output_tokens":5}"#, before), None);
    }

    #[test]
    fn figures_beyond_32_bits() {
        let much = count(r#"{"input_tokens":9007199254740993,"output_tokens":5000000000}"#, Count::default()).unwrap();
        assert_eq!((much.input, much.output), (9_007_199_254_740_993, 5_000_000_000));
    }

    #[test]
    fn the_cache_is_part_of_the_input() {
        let usage = Count { input: 100, cached: 40, written: 10, output: 20, reasoning: 5 }.usage(None);
        assert_eq!((usage.input, usage.cache_read, usage.cache_write_5m, usage.reasoning), (50, 40, 10, 5));
        assert_eq!((usage.native_input(), usage.native_output()), (100, 20));
    }
}
