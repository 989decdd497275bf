//! Tokens and cost. The figures of a turn are in the response to its prompt; updates contain the context size and the
//! session's cost so far.

use switchboard_event::{Context, Id, Info, Scope, Usage};

use crate::{JsonObject, RunRecorder};

/// Usage of the session so far.
#[derive(Default)]
pub struct AcpUsage {
    cost: Option<f64>,
    /// The figures of this turn were reported per reply.
    piecewise: bool,
}

impl AcpUsage {
    /// `usage_update`: the context size and the cumulative cost.
    pub fn update(&mut self, update: &JsonObject<'_>, resumed: bool, recorder: &mut RunRecorder) {
        let (used, size) = (update.get_u64("used"), update.get_u64("size"));
        recorder.update_info(Info { context: Some(Context { used, size }), ..Info::default() });
        let cost = update.get_object("cost");
        if let Some(total) = cost.get_f64("amount").filter(|_| cost.get_str("currency").is_none_or(|c| c == "USD")) {
            self.spent(total, resumed, recorder);
        }
    }

    /// Records the increase of the total cost. If the previous total is unknown, the total is shown but not added.
    fn spent(&mut self, total: f64, resumed: bool, recorder: &mut RunRecorder) {
        let base = self.cost.or_else(|| recorder.session_context().usage_base.as_ref().and_then(|base| base.cost_usd));
        let base = base.or((!resumed).then_some(0.0));
        let cost_usd = Some(base.map_or(total, |base| difference(total, base)));
        self.cost = Some(total);
        let model = recorder.current_model().map(str::to_owned);
        recorder.record_usage(Usage {
            scope: Scope::Turn,
            model,
            cost_usd,
            cumulative: base.is_none(),
            ..Usage::default()
        });
    }

    /// Records the usage of a reply. Qwen Code 0.15.10 reports it only with the last chunk of the text.
    pub fn replied(&mut self, figures: &JsonObject<'_>, reply: Option<Id>, recorder: &mut RunRecorder) {
        if figures.is_empty() {
            return;
        }
        self.piecewise = true;
        let model = recorder.current_model().map(str::to_owned);
        recorder.record_usage(Usage { scope: Scope::Reply, key: reply, ..usage(figures, model) });
    }

    /// Records the usage of a turn from its response.
    pub fn count(&mut self, result: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if std::mem::take(&mut self.piecewise) {
            return;
        }
        let model = recorder.current_model().map(str::to_owned);
        if result.get("usage").is_some() {
            return recorder.record_usage(usage(&result.get_object("usage"), model));
        }
        // Gemini CLI 0.61.0 reports its figures only here, by model.
        let quota = result.get_object("_meta").get_object("quota");
        let models = quota.get_array("model_usage");
        if models.is_empty() {
            return recorder.record_usage(counted(&quota.get_object("token_count"), model));
        }
        for entry in models {
            let entry = entry.as_object();
            recorder.record_usage(counted(&entry.get_object("token_count"), entry.get_non_empty("model")));
        }
    }
}

/// Returns the difference without floating-point noise.
fn difference(total: f64, base: f64) -> f64 {
    ((total - base).max(0.0) * 1e9).round() / 1e9
}

/// Parses `{inputTokens, outputTokens, thoughtTokens?, cachedReadTokens?, cachedWriteTokens?, totalTokens}`. The
/// protocol does not specify whether the first two include cache and thought tokens; the total shows it.
fn usage(figures: &JsonObject<'_>, model: Option<String>) -> Usage {
    let (input, output) = (figures.get_count("inputTokens"), figures.get_count("outputTokens"));
    let (read, write) = (figures.get_count("cachedReadTokens"), figures.get_count("cachedWriteTokens"));
    let (thoughts, cached) = (figures.get_count("thoughtTokens"), read.saturating_add(write));
    let rest = figures.get_u64("totalTokens").map(|total| total.saturating_sub(input.saturating_add(output)));
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

fn counted(figures: &JsonObject<'_>, model: Option<String>) -> Usage {
    let (input, output) = (figures.get_count("input_tokens"), figures.get_count("output_tokens"));
    Usage { scope: Scope::Turn, model, input, output, ..Usage::default() }
}

#[cfg(test)]
mod tests {

    use super::usage;
    use crate::JsonView;

    fn check(figures: &str, input: u64, output: u64) {
        let usage = usage(&JsonView::parse(figures).unwrap().as_object(), None);
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
