//! Tokens and money. The figures of a turn come with the answer to its prompt; updates tell how full the context is
//! and what the session cost so far.

use switchboard_event::{Context, Id, Info, Scope, Usage};

use crate::{Object, Scribe};

/// What the session cost so far.
#[derive(Default)]
pub struct Spending {
    cost: Option<f64>,
    /// The figures of this turn came reply by reply.
    piecewise: bool,
}

impl Spending {
    /// `usage_update`: how full the context is, and a running total of the cost.
    pub fn update(&mut self, update: &Object<'_>, resumed: bool, scribe: &mut Scribe) {
        let (used, size) = (update.u64("used"), update.u64("size"));
        scribe.info(Info { context: Some(Context { used, size }), ..Info::default() });
        let cost = update.object("cost");
        if let Some(total) = cost.f64("amount").filter(|_| cost.str("currency").is_none_or(|c| c == "USD")) {
            self.spent(total, resumed, scribe);
        }
    }

    /// Only the difference was spent now. Where nobody knows what the total was before, it is shown and not added.
    fn spent(&mut self, total: f64, resumed: bool, scribe: &mut Scribe) {
        let base = self.cost.or_else(|| scribe.start().usage_base.as_ref().and_then(|base| base.cost_usd));
        let base = base.or((!resumed).then_some(0.0));
        let cost_usd = Some(base.map_or(total, |base| difference(total, base)));
        self.cost = Some(total);
        let model = scribe.model().map(str::to_owned);
        scribe.usage(Usage { scope: Scope::Turn, model, cost_usd, cumulative: base.is_none(), ..Usage::default() });
    }

    /// The figures of a reply: one agent (0.15.10) has them beside the last piece of its text, and nowhere else.
    pub fn replied(&mut self, figures: &Object<'_>, reply: Option<Id>, scribe: &mut Scribe) {
        if figures.is_empty() {
            return;
        }
        self.piecewise = true;
        let model = scribe.model().map(str::to_owned);
        scribe.usage(Usage { scope: Scope::Reply, key: reply, ..usage(figures, model) });
    }

    /// The figures of a turn, in its answer.
    pub fn count(&mut self, result: &Object<'_>, scribe: &mut Scribe) {
        if std::mem::take(&mut self.piecewise) {
            return;
        }
        let model = scribe.model().map(str::to_owned);
        if result.get("usage").is_some() {
            return scribe.usage(usage(&result.object("usage"), model));
        }
        // One agent (0.61.0) gives its figures only here, by model.
        let quota = result.object("_meta").object("quota");
        let models = quota.array("model_usage");
        if models.is_empty() {
            return scribe.usage(counted(&quota.object("token_count"), model));
        }
        for entry in models {
            let entry = entry.object();
            scribe.usage(counted(&entry.object("token_count"), entry.filled("model")));
        }
    }
}

/// A difference without the dust that floating point leaves.
fn difference(total: f64, base: f64) -> f64 {
    ((total - base).max(0.0) * 1e9).round() / 1e9
}

/// `{inputTokens, outputTokens, thoughtTokens?, cachedReadTokens?, cachedWriteTokens?, totalTokens}`. The protocol does
/// not say whether cache and thoughts are part of the first two; the total shows it.
fn usage(figures: &Object<'_>, model: Option<String>) -> Usage {
    let (input, output) = (figures.count("inputTokens"), figures.count("outputTokens"));
    let (read, write) = (figures.count("cachedReadTokens"), figures.count("cachedWriteTokens"));
    let (thoughts, cached) = (figures.count("thoughtTokens"), read.saturating_add(write));
    let rest = figures.u64("totalTokens").map(|total| total.saturating_sub(input.saturating_add(output)));
    let within = |part: u64| {
        part > 0 && rest.is_some_and(|rest| rest == 0 || rest == thoughts.saturating_add(cached).saturating_sub(part))
    };
    let (cached_in_input, reasoning_in_output) = (within(cached), within(thoughts));
    Usage {
        scope: Scope::Turn,
        model,
        input: if cached_in_input { input.saturating_sub(cached) } else { input },
        output: if reasoning_in_output { output } else { output.saturating_add(thoughts) },
        cache_read: read,
        cache_write_5m: write,
        reasoning: thoughts,
        cached_in_input,
        reasoning_in_output,
        ..Usage::default()
    }
}

fn counted(figures: &Object<'_>, model: Option<String>) -> Usage {
    let (input, output) = (figures.count("input_tokens"), figures.count("output_tokens"));
    Usage { scope: Scope::Turn, model, input, output, ..Usage::default() }
}

#[cfg(test)]
mod tests {
    use super::usage;
    use crate::Json;

    fn check(figures: &str, input: u64, output: u64) {
        let usage = usage(&Json::parse(figures).unwrap().object(), None);
        assert_eq!((usage.input, usage.output), (input, output), "{figures}");
    }

    #[test]
    fn the_total_shows_what_the_figures_include() {
        check(
            r#"{"inputTokens":70,"outputTokens":15,"thoughtTokens":5,"cachedReadTokens":30,"totalTokens":120}"#,
            70,
            20,
        );
        check(
            r#"{"inputTokens":100,"outputTokens":20,"thoughtTokens":5,"cachedReadTokens":30,"totalTokens":120}"#,
            70,
            20,
        );
        check(
            r#"{"inputTokens":100,"outputTokens":15,"thoughtTokens":5,"cachedReadTokens":30,"totalTokens":120}"#,
            70,
            20,
        );
        check(
            r#"{"inputTokens":70,"outputTokens":20,"thoughtTokens":5,"cachedReadTokens":30,"totalTokens":120}"#,
            70,
            20,
        );
        check(r#"{"inputTokens":70,"outputTokens":20,"totalTokens":90}"#, 70, 20);
        check(r#"{"inputTokens":70,"outputTokens":20,"cachedReadTokens":30}"#, 70, 20);
    }
}
