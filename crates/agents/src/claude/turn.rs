//! Turns, their usage and cost: `result` ends a turn and reports its usage.

use switchboard_event::{
    AgentMessage, Denied, Details, ErrorCode, Fault, Id, Item, Scope, Status, Stop, TurnCompleted, TurnStatus, Usage,
};

use super::{ClaudeStreamReader, errors};
use crate::{JsonObject, JsonView, RunRecorder, bounded::BoundedMap};

/// The maximum number of replies remembered as counted: more than a turn has. A reply may be repeated much later, when
/// the conversation is replayed.
const MAX_COUNTED_REPLIES: usize = 4096;

/// Token usage and cost.
#[derive(Default)]
pub struct ClaudeUsageAccounting {
    /// The usage of this turn's individually counted replies, by model.
    counted: Vec<(String, Usage)>,
    seen: BoundedMap<(), MAX_COUNTED_REPLIES>,
    /// The latest reply without its final usage. If it is interrupted, no other record will have it.
    placeholder: Option<Usage>,
    /// The running totals of the process: usage by model, and cost.
    used: Vec<(String, Usage)>,
    spent: f64,
    /// The next turn has begun although this one has not ended: new replies count there.
    is_overlapped: bool,
    early_replies: Vec<Usage>,
    /// Usage that the last turn reported beyond its own: it belongs to the turn that overlapped it.
    carried: Vec<Usage>,
    /// The turn has such usage. Its cost is part of the last turn's, because Claude Code gives no figure for it.
    has_carried_usage: bool,
    /// The prompt of the turn.
    pub prompt: Option<String>,
}

impl ClaudeUsageAccounting {
    pub fn begin_turn(&mut self, prompt: Option<String>) {
        (self.counted, self.placeholder) = (Vec::new(), None);
        self.prompt = prompt;
    }

    /// Counts the replies that arrived before their turn could begin.
    pub fn count_early_replies(&mut self, recorder: &mut RunRecorder) {
        for usage in std::mem::take(&mut self.early_replies) {
            self.add_counted(usage, recorder);
        }
    }

    /// Attributes all further replies to the next turn.
    pub fn mark_overlap(&mut self) {
        self.is_overlapped = true;
    }

    /// Remembers a reply of which only the input is known.
    pub fn set_placeholder(&mut self, usage: Usage) {
        if usage.key.as_ref().is_none_or(|key| !self.seen.has(key)) {
            self.placeholder = Some(usage);
        }
    }

    /// Counts a reply once.
    pub fn count_reply(&mut self, usage: Usage, recorder: &mut RunRecorder) {
        self.placeholder = None;
        if usage.key.as_ref().is_some_and(|key| !self.seen.insert(key.clone(), ())) {
            return;
        }
        match self.is_overlapped {
            true => self.early_replies.push(usage),
            false => self.add_counted(usage, recorder),
        }
    }

    fn add_counted(&mut self, usage: Usage, recorder: &mut RunRecorder) {
        usage_of_model(&mut self.counted, base_model(usage.model.as_deref().unwrap_or_default())).add(&usage);
        recorder.record_usage(usage);
    }

    /// Reports what is known of a turn whose stream ends without a result: the figures from the beginning of the last
    /// reply.
    pub fn report_cut_off(&mut self, recorder: &mut RunRecorder) {
        if let Some(usage) = self.placeholder.take().filter(|_| recorder.in_turn()) {
            recorder.record_usage(usage);
        }
        self.begin_turn(None);
        self.count_early_replies(recorder);
        let carried = std::mem::take(&mut self.carried);
        for usage in self.subtract_counted(carried).into_iter().filter(|usage| !usage.is_zero()) {
            recorder.record_usage(Usage { key: None, scope: Scope::Turn, ..usage });
        }
    }

    /// Resets the running totals, which Claude Code restarts when the conversation is cleared.
    pub fn reset_totals(&mut self) {
        (self.used, self.spent) = (Vec::new(), 0.0);
    }

    /// Reports the rest of a turn's usage. The figures by model include subagents and side calls; `parse_usage` covers only
    /// the main conversation of this turn.
    fn report_turn(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let main = parse_usage(&fields.get_object("usage"));
        if fields.get_f64("total_cost_usd").is_some_and(|total| total < self.spent) {
            self.reset_totals();
        }
        let used = self.used_since_last_result(fields);
        let mut rest = self.subtract_counted(used);
        if fields.get_object("modelUsage").is_empty() && rest.is_empty() {
            rest.push(main.saturating_sub(&self.counted_total()));
        }
        if let Some(first) = rest.first_mut() {
            // Before 2.1.326 only the turn's own figures tell the cache lifetime and the reasoning tokens.
            let hour = main.cache_write_1h.saturating_sub(self.counted_total().cache_write_1h);
            let hour = hour.saturating_sub(first.cache_write_1h).min(first.cache_write_5m);
            first.cache_write_5m -= hour;
            first.cache_write_1h += hour;
            let reasoning = main.reasoning.saturating_sub(self.counted_total().reasoning);
            first.reasoning = first.reasoning.max(reasoning).min(first.output);
        }
        if std::mem::take(&mut self.is_overlapped) {
            self.carried = split_beyond(&mut rest, main.saturating_sub(&self.counted_total()));
        }
        rest.retain(|usage| !usage.is_zero());
        // An interrupted reply is only in its own figures.
        let complete = !rest.is_empty();
        rest.extend(self.placeholder.take().filter(|_| !complete));
        if rest.is_empty() && self.counted_total().is_zero() && fields.contains_key("usage") {
            // The turn reports that it used nothing.
            rest.push(Usage { reasoning_in_output: true, ..Usage::default() });
        }
        rest.into_iter()
            .for_each(|usage| recorder.record_reported_usage(Usage { key: None, scope: Scope::Turn, ..usage }));
    }

    /// Returns the usage of each model since the last turn ended. `modelUsage` is a running total: of the process up to
    /// 2.1.197, and of the saved session in 2.1.326, which therefore also has the difference.
    fn used_since_last_result(&mut self, fields: &JsonObject<'_>) -> Vec<Usage> {
        let mut used = std::mem::take(&mut self.carried);
        self.has_carried_usage = !used.is_empty();
        for (model, figures) in fields.get_object("modelUsage").iter() {
            let now = model_usage(model, &figures.as_object());
            let before = std::mem::replace(usage_of_model(&mut self.used, model), now.clone());
            if fields.get(SINCE_LAST_RESULT_KEY).is_none() {
                add_for_model(&mut used, now.saturating_sub(&before));
            }
        }
        for (model, figures) in fields.get_object(SINCE_LAST_RESULT_KEY).iter() {
            add_for_model(&mut used, model_usage(model, &figures.as_object()));
        }
        used
    }

    /// Subtracts the counted replies of this turn.
    fn subtract_counted(&self, used: Vec<Usage>) -> Vec<Usage> {
        let mut counted = self.counted.clone();
        let remains = |now: Usage| {
            let replies = usage_of_model(&mut counted, base_model(now.model.as_deref().unwrap_or_default()));
            if now.cache_write_1h == 0 {
                // Before 2.1.326 the figures by model do not tell the cache lifetime.
                (replies.cache_write_5m, replies.cache_write_1h) = (replies.cache_write(), 0);
            }
            let rest = now.saturating_sub(replies);
            *replies = replies.saturating_sub(&now);
            rest
        };
        used.into_iter().map(remains).collect()
    }

    fn counted_total(&self) -> Usage {
        let mut total = Usage::default();
        self.counted.iter().for_each(|(_, usage)| total.add(usage));
        total
    }

    /// Returns the cost of the turn, unless all of it was reported with the turn before.
    fn turn_cost(&mut self, fields: &JsonObject<'_>) -> Option<f64> {
        let total = fields.get_f64("total_cost_usd")?;
        let before = std::mem::replace(&mut self.spent, total);
        let cost: f64 = match fields.get(SINCE_LAST_RESULT_KEY) {
            Some(models) => {
                models.as_object().iter().filter_map(|(_, figures)| figures.as_object().get_f64("costUSD")).sum()
            }
            None => total - before,
        };
        // Sums and differences of such figures end in meaningless digits.
        let cost = (cost.max(0.0) * 1e9).round() / 1e9;
        (cost > 0.0 || !self.has_carried_usage).then_some(cost)
    }
}

/// The field with each model's usage in this turn (2.1.326).
const SINCE_LAST_RESULT_KEY: &str = "model_usage_since_last_result";

/// Parses the figures of a model in Claude Code's format.
pub fn model_usage(model: &str, figures: &JsonObject<'_>) -> Usage {
    let hour = figures.get_count("cacheCreationEphemeral1hInputTokens");
    Usage {
        model: Some(model.to_owned()),
        input: figures.get_count("inputTokens"),
        output: figures.get_count("outputTokens"),
        cache_read: figures.get_count("cacheReadInputTokens"),
        cache_write_5m: figures.get_count("cacheCreationInputTokens").saturating_sub(hour),
        cache_write_1h: hour,
        reasoning: figures.get_count("thinkingTokens"),
        reasoning_in_output: true,
        ..Usage::default()
    }
}

fn add_for_model(list: &mut Vec<Usage>, usage: Usage) {
    match list.iter_mut().find(|known| known.model == usage.model) {
        Some(known) => known.add(&usage),
        None => list.push(usage),
    }
}

/// Removes from `list` the usage beyond `own`.
fn split_beyond(list: &mut [Usage], mut own: Usage) -> Vec<Usage> {
    let split = |usage: &mut Usage| {
        let beyond = usage.saturating_sub(&own);
        *usage = usage.saturating_sub(&beyond);
        own = own.saturating_sub(usage);
        beyond
    };
    list.iter_mut().map(split).filter(|beyond| !beyond.is_zero()).collect()
}

/// The maximum number of models before the oldest is forgotten.
const MAX_TRACKED_MODELS: usize = 64;

/// Returns the model name as used in replies: `claude-x[1m]` is `claude-x` with a larger context.
pub fn base_model(model: &str) -> &str {
    model.split('[').next().unwrap_or_default()
}

fn usage_of_model<'a>(list: &'a mut Vec<(String, Usage)>, model: &str) -> &'a mut Usage {
    let index = list.iter().position(|(known, _)| known == model).unwrap_or_else(|| {
        if list.len() == MAX_TRACKED_MODELS {
            list.remove(0);
        }
        list.push((model.to_owned(), Usage::default()));
        list.len() - 1
    });
    &mut list[index].1
}

impl ClaudeStreamReader {
    /// Reads a `result` record.
    pub(super) fn read_result(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.ensure_turn(recorder);
        let (status, stop, error) = self.turn_outcome(fields, recorder.is_interrupted());
        self.write_local_answer(fields, status, recorder);
        close_server_tools(status, recorder);
        self.supersede_abandoned(recorder);
        self.books.report_turn(fields, recorder);
        recorder.turn_completed(TurnCompleted {
            status,
            stop,
            error,
            duration_ms: fields.get_u64("duration_ms"),
            steps: fields.get_u64("num_turns"),
            cost_usd: self.books.turn_cost(fields),
            denied: fields.get_array("permission_denials").into_iter().map(parse_denial).collect(),
            result: fields.get_raw("structured_output").map(|raw| raw.get().to_owned()),
        });
        (self.fault, self.failed_status) = (None, None);
    }

    /// Claude Code's own terms for the end of a turn are misleading: an API error is a `success` with `is_error`, and
    /// an interruption is an error.
    fn turn_outcome(&self, fields: &JsonObject<'_>, interrupted: bool) -> (TurnStatus, Stop, Option<Fault>) {
        let subtype = fields.get_str("subtype").unwrap_or_default();
        let reason = fields.get_str("terminal_reason").unwrap_or_default();
        // Claude Code 2.1.0 gives no reason.
        let stopped = interrupted && reason.is_empty() && subtype == "error_during_execution";
        if reason.starts_with("aborted_") || stopped {
            let fault = Fault::new(ErrorCode::Aborted, "interrupted").with_info(reason);
            return (TurnStatus::Interrupted, Stop::Cancelled, Some(fault));
        }
        if !fields.is_true("is_error") && !subtype.starts_with("error_") {
            return (TurnStatus::Completed, parse_stop(fields), None);
        }
        let fault = errors::result_fault(fields, self.fault.as_ref(), self.failed_status);
        let stop = match fault.code {
            ErrorCode::MaxTurns => Stop::MaxTurns,
            ErrorCode::MaxBudget => Stop::Budget,
            ErrorCode::OutputLength => Stop::MaxTokens,
            ErrorCode::Refused => Stop::Refusal,
            _ => Stop::Error,
        };
        (TurnStatus::Failed, stop, Some(fault))
    }

    /// Some commands answer only in the result. Other results repeat the text of the turn.
    fn write_local_answer(&mut self, fields: &JsonObject<'_>, status: TurnStatus, recorder: &mut RunRecorder) {
        let answer = fields.get_non_empty("result").filter(|_| status == TurnStatus::Completed && !self.has_spoken());
        if let Some(answer) = answer {
            let id = self.generate_id("result", recorder);
            recorder.item_completed(&id, Item::new(AgentMessage::text(answer)));
        }
    }
}

/// A tool that the provider runs itself may never get a result.
fn close_server_tools(status: TurnStatus, recorder: &mut RunRecorder) {
    if status != TurnStatus::Completed {
        return;
    }
    for id in recorder.open_items(None) {
        let item = recorder.open_item(&id);
        if item.is_some_and(|item| matches!(&item.details, Details::WebSearch(_)) && id.starts_with("srv")) {
            recorder.item_closed(&id, Status::Completed);
        }
    }
}

fn parse_stop(fields: &JsonObject<'_>) -> Stop {
    match fields.get_str("stop_reason").as_deref() {
        Some("max_tokens") => Stop::MaxTokens,
        Some("refusal") => Stop::Refusal,
        _ => Stop::EndTurn,
    }
}

fn parse_denial(denial: JsonView<'_>) -> Denied {
    let denial = denial.as_object();
    Denied {
        tool: denial.get_string("tool_name").unwrap_or_default(),
        item: denial.get_str("tool_use_id").map(Id::from),
        input: denial.get_raw("tool_input"),
    }
}

/// Parses the usage of a reply or of a turn in the format of the model's API.
pub fn parse_usage(figures: &JsonObject<'_>) -> Usage {
    let written = figures.get_object("cache_creation");
    let hour = written.get_count("ephemeral_1h_input_tokens");
    Usage {
        input: figures.get_count("input_tokens"),
        output: figures.get_count("output_tokens"),
        cache_read: figures.get_count("cache_read_input_tokens"),
        cache_write_5m: figures.get_count("cache_creation_input_tokens").saturating_sub(hour),
        cache_write_1h: hour,
        reasoning: figures.get_object("output_tokens_details").get_count("thinking_tokens"),
        cached_in_input: false,
        reasoning_in_output: true,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {

    use switchboard_event::Id;

    use super::MAX_COUNTED_REPLIES;
    use crate::bounded::BoundedMap;

    #[test]
    fn a_reply_that_is_repeated_much_later_counts_once() {
        let mut seen = BoundedMap::<(), MAX_COUNTED_REPLIES>::default();
        assert!((0..MAX_COUNTED_REPLIES).all(|n| seen.insert(Id::from(format!("msg_{n}")), ())));
        assert!(!seen.insert(Id::from("msg_0"), ()));
        assert!(seen.insert(Id::from("one more"), ()), "and the oldest is forgotten, so that memory is bounded");
    }
}
