//! Codex counts a thread's tokens from the thread's beginning. What is reported is what came on top.

use switchboard_event::{Scope, Usage};

use super::names;
use crate::Object;

/// The running total of one thread.
#[derive(Clone, Debug)]
pub struct Totals {
    /// What was counted so far; nothing if the thread is older than the stream and nobody knows what it had used.
    counted: Option<Usage>,
    /// What was counted so far comes from the caller, not from the stream.
    given: bool,
    /// It is a copy of a thread that the stream does not know.
    copied: bool,
}

impl Totals {
    /// Of a thread that begins with the stream.
    pub fn fresh() -> Self {
        Self { counted: Some(Usage::default()), given: false, copied: false }
    }

    /// Of a thread that is older than the stream.
    pub fn older(base: Option<Usage>) -> Self {
        Self { given: base.is_some(), counted: base, copied: false }
    }

    /// Of a copy of a thread that the stream does not know.
    pub fn copied() -> Self {
        Self { counted: None, given: false, copied: true }
    }

    /// The first total of a copy is that of the other thread and one reply of its own (0.166).
    pub fn first_reply(&mut self, total: &Usage, reply: &Usage) {
        if std::mem::take(&mut self.copied) && !reply.is_zero() {
            self.counted = Some(total.minus(reply));
        }
    }

    /// What a new total adds. The first total of an older thread without a base adds nothing: it is only shown.
    pub fn step(&mut self, total: Usage) -> Usage {
        let given = std::mem::take(&mut self.given);
        let news = match &self.counted {
            None => Usage { cumulative: true, ..total.clone() },
            // `codex exec resume NAME` with an unknown name silently begins a new thread (0.166).
            Some(base) if given && is_below(&total, base) => total.clone(),
            Some(base) => total.minus(base),
        };
        self.counted = Some(total);
        news
    }
}

fn is_below(total: &Usage, base: &Usage) -> bool {
    total.all_input() < base.all_input() || total.output < base.output
}

/// The figures of a thread or of a reply. Input includes what was read from and written to the cache, output
/// includes reasoning.
pub fn figures(fields: &Object<'_>, scope: Scope, model: Option<&str>) -> Usage {
    let count = |names: &[&str]| names::get(fields, names).and_then(crate::Json::u64).unwrap_or(0);
    let (inputs, outputs) = (fields.object("input_tokens_details"), fields.object("output_tokens_details"));
    let cache_read = count(&["cached_input_tokens", "cachedInputTokens"]).max(inputs.count("cached_tokens"));
    let cache_write =
        count(&["cache_write_input_tokens", "cacheWriteInputTokens"]).max(inputs.count("cache_write_tokens"));
    let reasoning = count(&["reasoning_output_tokens", "reasoningOutputTokens"]).max(outputs.count("reasoning_tokens"));
    apart(Whole {
        scope,
        model,
        input: count(&["input_tokens", "inputTokens"]),
        output: count(&["output_tokens", "outputTokens"]),
        cache_read,
        cache_write,
        reasoning,
    })
}

/// Figures as Codex has them: input with the cache in it, output with reasoning in it.
#[derive(Clone, Copy)]
pub struct Whole<'a> {
    pub scope: Scope,
    pub model: Option<&'a str>,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

/// The same, taken apart.
pub fn apart(whole: Whole<'_>) -> Usage {
    let Whole { scope, model, input, output, cache_read, cache_write, reasoning } = whole;
    Usage {
        scope,
        model: model.map(str::to_owned),
        input: input.saturating_sub(cache_read).saturating_sub(cache_write),
        output,
        cache_read,
        cache_write_5m: cache_write,
        reasoning,
        cached_in_input: true,
        reasoning_in_output: true,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Scope, Usage};

    use super::{Totals, figures};
    use crate::Json;

    fn total(input: u64, cached: u64, output: u64) -> Usage {
        let text = format!(r#"{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":{output}}}"#);
        figures(&Json::parse(&text).unwrap().object(), Scope::Turn, None)
    }

    fn check(totals: &mut Totals, next: Usage, input: u64, output: u64, cumulative: bool) {
        let news = totals.step(next);
        assert_eq!((news.all_input(), news.output, news.cumulative), (input, output, cumulative));
    }

    #[test]
    fn a_fresh_thread_begins_at_zero() {
        let mut totals = Totals::fresh();
        check(&mut totals, total(100, 40, 20), 100, 20, false);
        check(&mut totals, total(300, 120, 60), 200, 40, false);
        check(&mut totals, total(300, 120, 60), 0, 0, false);
    }

    #[test]
    fn an_older_thread_counts_from_its_base() {
        let mut totals = Totals::older(Some(total(200, 80, 40)));
        check(&mut totals, total(300, 120, 60), 100, 20, false);
    }

    #[test]
    fn a_copy_counts_its_own_replies_only() {
        let mut totals = Totals::copied();
        for all in [total(300, 120, 60), total(400, 160, 80)] {
            totals.first_reply(&all, &total(100, 40, 20));
            check(&mut totals, all, 100, 20, false);
        }
    }

    #[test]
    fn without_a_base_the_first_total_is_only_shown() {
        let mut totals = Totals::older(None);
        check(&mut totals, total(300, 120, 60), 300, 60, true);
        check(&mut totals, total(400, 160, 80), 100, 20, false);
    }

    #[test]
    fn a_total_below_the_given_base_is_of_another_thread() {
        let mut totals = Totals::older(Some(total(400, 160, 80)));
        check(&mut totals, total(100, 40, 20), 100, 20, false);
    }

    #[test]
    fn the_cache_is_part_of_the_input() {
        let usage = total(100, 40, 20);
        assert_eq!((usage.input, usage.cache_read, usage.native_input()), (60, 40, 100));
    }
}
