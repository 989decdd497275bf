//! Token usage of threads. Codex reports totals since the beginning of a thread; these are converted to increments.

use switchboard_event::{Scope, Usage};

use super::first_field;
use crate::JsonObject;

/// The running total of one thread.
#[derive(Clone, Debug)]
pub struct ThreadUsageTotals {
    /// The last total; `None` if the thread is older than the stream and its earlier usage is unknown.
    counted: Option<Usage>,
    /// The last total comes from the caller, not from the stream.
    given: bool,
    /// The thread is a copy of one that is not part of the stream.
    copied: bool,
}

impl ThreadUsageTotals {
    /// For a thread that begins with the stream.
    pub fn for_new_thread() -> Self {
        Self { counted: Some(Usage::default()), given: false, copied: false }
    }

    /// For a thread that is older than the stream.
    pub fn for_older_thread(base: Option<Usage>) -> Self {
        Self { given: base.is_some(), counted: base, copied: false }
    }

    /// For a copy of a thread that is not part of the stream.
    pub fn for_unknown_copy() -> Self {
        Self { counted: None, given: false, copied: true }
    }

    /// The first total of a copy is that of the other thread plus one reply of its own (0.166).
    pub fn apply_first_reply(&mut self, total: &Usage, reply: &Usage) {
        if std::mem::take(&mut self.copied) && !reply.is_zero() {
            self.counted = Some(total.saturating_sub(reply));
        }
    }

    /// Returns the usage that a new total adds. The first total of an older thread without a base is marked as
    /// cumulative and adds nothing.
    pub fn add_total(&mut self, total: Usage) -> Usage {
        let given = std::mem::take(&mut self.given);
        let news = match &self.counted {
            None => Usage { cumulative: true, ..total.clone() },
            // `codex exec resume NAME` with an unknown name silently starts a new thread (0.166).
            Some(base) if given && is_below(&total, base) => total.clone(),
            Some(base) => total.saturating_sub(base),
        };
        self.counted = Some(total);
        news
    }
}

fn is_below(total: &Usage, base: &Usage) -> bool {
    total.all_input() < base.all_input() || total.output < base.output
}

/// Parses the usage of a thread or of a reply. Input includes cache reads and writes, output includes reasoning.
pub fn parse_usage(fields: &JsonObject<'_>, scope: Scope, model: Option<&str>) -> Usage {
    let count = |names: &[&str]| first_field(fields, names).and_then(crate::JsonView::as_u64).unwrap_or(0);
    let (inputs, outputs) = (fields.get_object("input_tokens_details"), fields.get_object("output_tokens_details"));
    let cache_read = count(&["cached_input_tokens", "cachedInputTokens"]).max(inputs.get_count("cached_tokens"));
    let cache_write =
        count(&["cache_write_input_tokens", "cacheWriteInputTokens"]).max(inputs.get_count("cache_write_tokens"));
    let reasoning =
        count(&["reasoning_output_tokens", "reasoningOutputTokens"]).max(outputs.get_count("reasoning_tokens"));
    split_usage(InclusiveTokenCounts {
        scope,
        model,
        input: count(&["input_tokens", "inputTokens"]),
        output: count(&["output_tokens", "outputTokens"]),
        cache_read,
        cache_write,
        reasoning,
    })
}

/// Token counts as Codex reports them: input includes the cache, output includes reasoning.
#[derive(Clone, Copy)]
pub struct InclusiveTokenCounts<'a> {
    pub scope: Scope,
    pub model: Option<&'a str>,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

/// Separates the cache from the input.
pub fn split_usage(whole: InclusiveTokenCounts<'_>) -> Usage {
    let InclusiveTokenCounts { scope, model, input, output, cache_read, cache_write, reasoning } = whole;
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

    use super::{ThreadUsageTotals, parse_usage};
    use crate::JsonView;

    fn parse_total(input: u64, cached: u64, output: u64) -> Usage {
        let text = format!(r#"{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":{output}}}"#);
        parse_usage(&JsonView::parse(&text).unwrap().as_object(), Scope::Turn, None)
    }

    fn check_added(totals: &mut ThreadUsageTotals, next: Usage, input: u64, output: u64, cumulative: bool) {
        let news = totals.add_total(next);
        assert_eq!((news.all_input(), news.output, news.cumulative), (input, output, cumulative));
    }

    #[test]
    fn a_fresh_thread_begins_at_zero() {
        let mut totals = ThreadUsageTotals::for_new_thread();
        check_added(&mut totals, parse_total(100, 40, 20), 100, 20, false);
        check_added(&mut totals, parse_total(300, 120, 60), 200, 40, false);
        check_added(&mut totals, parse_total(300, 120, 60), 0, 0, false);
    }

    #[test]
    fn an_older_thread_counts_from_its_base() {
        let mut totals = ThreadUsageTotals::for_older_thread(Some(parse_total(200, 80, 40)));
        check_added(&mut totals, parse_total(300, 120, 60), 100, 20, false);
    }

    #[test]
    fn a_copy_counts_its_own_replies_only() {
        let mut totals = ThreadUsageTotals::for_unknown_copy();
        for all in [parse_total(300, 120, 60), parse_total(400, 160, 80)] {
            totals.apply_first_reply(&all, &parse_total(100, 40, 20));
            check_added(&mut totals, all, 100, 20, false);
        }
    }

    #[test]
    fn without_a_base_the_first_total_is_only_shown() {
        let mut totals = ThreadUsageTotals::for_older_thread(None);
        check_added(&mut totals, parse_total(300, 120, 60), 300, 60, true);
        check_added(&mut totals, parse_total(400, 160, 80), 100, 20, false);
    }

    #[test]
    fn a_total_below_the_given_base_is_of_another_thread() {
        let mut totals = ThreadUsageTotals::for_older_thread(Some(parse_total(400, 160, 80)));
        check_added(&mut totals, parse_total(100, 40, 20), 100, 20, false);
    }

    #[test]
    fn the_cache_is_part_of_the_input() {
        let usage = parse_total(100, 40, 20);
        assert_eq!((usage.input, usage.cache_read, usage.native_input()), (60, 40, 100));
    }
}
