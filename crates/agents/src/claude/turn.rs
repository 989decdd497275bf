//! Turns and what they cost: `result` ends one, and says what it used.

use std::collections::VecDeque;

use foldhash::HashSet;
use switchboard_event::{
    AgentMessage, Denied, Details, ErrorCode, Fault, Id, Item, Scope, Status, Stop, TurnCompleted, TurnStatus, Usage,
};

use super::{errors, live::Live};
use crate::{Json, Object, Scribe};

/// How many replies are remembered as counted: more than a turn has. One may be repeated long after, when what was
/// said before is said again.
const REMEMBERED: usize = 4096;

/// What was used and spent.
#[derive(Default)]
pub struct Books {
    /// Replies of this turn that were counted one by one, by model.
    counted: Vec<(String, Usage)>,
    seen: Seen,
    /// The latest reply that did not say yet what it really used. If it is interrupted, nothing else ever will.
    placeholder: Option<Usage>,
    /// What the process had used and spent so far: these figures of Claude's run on.
    used: Vec<(String, Usage)>,
    spent: f64,
    /// The next turn has begun although this one has not ended: its replies count there.
    is_overlapped: bool,
    early_replies: Vec<Usage>,
    /// What the end of the last turn reported beyond its own figures: it belongs to the turn that overlapped it.
    carried: Vec<Usage>,
    /// What the turn was asked.
    pub prompt: Option<String>,
}

impl Books {
    /// A turn begins.
    pub fn begin(&mut self, prompt: Option<String>) {
        (self.counted, self.placeholder) = (Vec::new(), None);
        self.prompt = prompt;
    }

    /// Counts the replies that came before their turn could begin.
    pub fn count_early_replies(&mut self, scribe: &mut Scribe) {
        for usage in std::mem::take(&mut self.early_replies) {
            self.count(usage, scribe);
        }
    }

    /// Replies from here on belong to the next turn.
    pub fn overlap(&mut self) {
        self.is_overlapped = true;
    }

    /// A reply began, and only its input is known.
    pub fn began(&mut self, usage: Usage) {
        if usage.key.as_ref().is_none_or(|key| !self.seen.contains(key)) {
            self.placeholder = Some(usage);
        }
    }

    /// Counts a reply, once.
    pub fn reply(&mut self, usage: Usage, scribe: &mut Scribe) {
        self.placeholder = None;
        if usage.key.as_ref().is_some_and(|key| !self.seen.insert(key)) {
            return;
        }
        match self.is_overlapped {
            true => self.early_replies.push(usage),
            false => self.count(usage, scribe),
        }
    }

    fn count(&mut self, usage: Usage, scribe: &mut Scribe) {
        entry(&mut self.counted, plain(usage.model.as_deref().unwrap_or_default())).add(&usage);
        scribe.usage(usage);
    }

    /// The stream ends without a word about the turn: what the last reply said at its beginning is all there is.
    pub fn cut_off(&mut self, scribe: &mut Scribe) {
        if let Some(usage) = self.placeholder.take().filter(|_| scribe.in_turn()) {
            scribe.usage(usage);
        }
        self.begin(None);
        self.count_early_replies(scribe);
        let carried = std::mem::take(&mut self.carried);
        for usage in self.uncounted(carried).into_iter().filter(|usage| !usage.is_zero()) {
            scribe.usage(Usage { key: None, scope: Scope::Turn, ..usage });
        }
    }

    /// The conversation was cleared, and Claude's running totals begin anew.
    pub fn reset_totals(&mut self) {
        (self.used, self.spent) = (Vec::new(), 0.0);
    }

    /// Counts what is left of a turn. The figures by model have everything, subagents and side calls included; `usage`
    /// has the main conversation of this turn alone.
    fn turn(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let main = usage(&fields.object("usage"));
        if fields.f64("total_cost_usd").is_some_and(|total| total < self.spent) {
            self.reset_totals();
        }
        let used = self.used_since_last_result(fields);
        let mut rest = self.uncounted(used);
        if fields.object("modelUsage").is_empty() && rest.is_empty() {
            rest.push(main.minus(&self.total()));
        }
        if let Some(first) = rest.first_mut() {
            // Before 2.1.326 only the turn's own figures say how long the cache is kept, and what was reasoning.
            let hour = main.cache_write_1h.saturating_sub(self.total().cache_write_1h);
            let hour = hour.saturating_sub(first.cache_write_1h).min(first.cache_write_5m);
            first.cache_write_5m -= hour;
            first.cache_write_1h += hour;
            let reasoning = main.reasoning.saturating_sub(self.total().reasoning);
            first.reasoning = first.reasoning.max(reasoning).min(first.output);
        }
        if std::mem::take(&mut self.is_overlapped) {
            self.carried = split_beyond(&mut rest, main.minus(&self.total()));
        }
        rest.retain(|usage| !usage.is_zero());
        // A reply that was interrupted is in no figures but its own.
        let complete = !rest.is_empty();
        rest.extend(self.placeholder.take().filter(|_| !complete));
        if rest.is_empty() && self.total().is_zero() && fields.has("usage") {
            // The turn used nothing, and says so.
            rest.push(Usage { reasoning_in_output: true, ..Usage::default() });
        }
        rest.into_iter().for_each(|usage| scribe.report(Usage { key: None, scope: Scope::Turn, ..usage }));
    }

    /// What each model used since the last turn ended. `modelUsage` is a running total: of the process up to 2.1.197,
    /// of the saved session in 2.1.326, which therefore also gives the difference.
    fn used_since_last_result(&mut self, fields: &Object<'_>) -> Vec<Usage> {
        let mut used = std::mem::take(&mut self.carried);
        for (model, figures) in fields.object("modelUsage").iter() {
            let now = model_usage(model, &figures.object());
            let before = std::mem::replace(entry(&mut self.used, model), now.clone());
            if fields.get(SINCE_LAST_RESULT).is_none() {
                add_for_model(&mut used, now.minus(&before));
            }
        }
        for (model, figures) in fields.object(SINCE_LAST_RESULT).iter() {
            add_for_model(&mut used, model_usage(model, &figures.object()));
        }
        used
    }

    /// What remains of these figures beyond the replies of this turn that were counted.
    fn uncounted(&self, used: Vec<Usage>) -> Vec<Usage> {
        let mut counted = self.counted.clone();
        let remains = |now: Usage| {
            let replies = entry(&mut counted, plain(now.model.as_deref().unwrap_or_default()));
            if now.cache_write_1h == 0 {
                // Before 2.1.326 the figures by model do not say how long the cache is kept.
                (replies.cache_write_5m, replies.cache_write_1h) = (replies.cache_write(), 0);
            }
            let rest = now.minus(replies);
            *replies = replies.minus(&now);
            rest
        };
        used.into_iter().map(remains).collect()
    }

    fn total(&self) -> Usage {
        let mut total = Usage::default();
        self.counted.iter().for_each(|(_, usage)| total.add(usage));
        total
    }

    fn cost(&mut self, fields: &Object<'_>) -> Option<f64> {
        let total = fields.f64("total_cost_usd")?;
        let before = std::mem::replace(&mut self.spent, total);
        let cost: f64 = match fields.get(SINCE_LAST_RESULT) {
            Some(models) => models.object().iter().filter_map(|(_, figures)| figures.object().f64("costUSD")).sum(),
            None => total - before,
        };
        // Sums and differences of such figures have a tail of digits that mean nothing.
        Some((cost.max(0.0) * 1e9).round() / 1e9)
    }
}

/// Where 2.1.326 says what each model used in this turn.
const SINCE_LAST_RESULT: &str = "model_usage_since_last_result";

/// The figures of a model, in the words of Claude Code.
pub fn model_usage(model: &str, figures: &Object<'_>) -> Usage {
    let hour = figures.count("cacheCreationEphemeral1hInputTokens");
    Usage {
        model: Some(model.to_owned()),
        input: figures.count("inputTokens"),
        output: figures.count("outputTokens"),
        cache_read: figures.count("cacheReadInputTokens"),
        cache_write_5m: figures.count("cacheCreationInputTokens").saturating_sub(hour),
        cache_write_1h: hour,
        reasoning: figures.count("thinkingTokens"),
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

/// Takes out of `list` what is beyond `own`.
fn split_beyond(list: &mut [Usage], mut own: Usage) -> Vec<Usage> {
    let split = |usage: &mut Usage| {
        let beyond = usage.minus(&own);
        *usage = usage.minus(&beyond);
        own = own.minus(usage);
        beyond
    };
    list.iter_mut().map(split).filter(|beyond| !beyond.is_zero()).collect()
}

/// The replies that were counted.
#[derive(Default)]
struct Seen {
    order: VecDeque<Id>,
    known: HashSet<Id>,
}

impl Seen {
    fn contains(&self, key: &Id) -> bool {
        self.known.contains(key)
    }

    /// False if it was counted already.
    fn insert(&mut self, key: &Id) -> bool {
        if !self.known.insert(key.clone()) {
            return false;
        }
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(key.clone());
        true
    }
}

/// How many models a session may use before the oldest is forgotten.
const MODELS: usize = 64;

/// The model that replies name: `claude-x[1m]` is `claude-x` with a larger context.
pub fn plain(model: &str) -> &str {
    model.split('[').next().unwrap_or_default()
}

/// The figures of a model.
fn entry<'a>(list: &'a mut Vec<(String, Usage)>, model: &str) -> &'a mut Usage {
    let index = list.iter().position(|(known, _)| known == model).unwrap_or_else(|| {
        if list.len() == MODELS {
            list.remove(0);
        }
        list.push((model.to_owned(), Usage::default()));
        list.len() - 1
    });
    &mut list[index].1
}

impl Live {
    /// `result`.
    pub(super) fn result(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        self.ensure_turn(scribe);
        let (status, stop, error) = self.outcome(fields, scribe.is_interrupted());
        self.local_answer(fields, status, scribe);
        close_server_tools(status, scribe);
        self.supersede_abandoned(scribe);
        self.books.turn(fields, scribe);
        scribe.turn_completed(TurnCompleted {
            status,
            stop,
            error,
            duration_ms: fields.u64("duration_ms"),
            steps: fields.u64("num_turns"),
            cost_usd: self.books.cost(fields),
            denied: fields.array("permission_denials").into_iter().map(denied).collect(),
            result: fields.raw("structured_output").map(|raw| raw.get().to_owned()),
        });
        (self.fault, self.failed_status) = (None, None);
    }

    /// Claude's own words for how a turn ended are misleading: an API error is a `success` with `is_error`, and an
    /// interruption is an error.
    fn outcome(&self, fields: &Object<'_>, interrupted: bool) -> (TurnStatus, Stop, Option<Fault>) {
        let subtype = fields.str("subtype").unwrap_or_default();
        let reason = fields.str("terminal_reason").unwrap_or_default();
        // Claude Code 2.1.0 gives no reason.
        let stopped = interrupted && reason.is_empty() && subtype == "error_during_execution";
        if reason.starts_with("aborted_") || stopped {
            let fault = Fault::new(ErrorCode::Aborted, "interrupted").with_info(reason);
            return (TurnStatus::Interrupted, Stop::Cancelled, Some(fault));
        }
        if !fields.is_true("is_error") && !subtype.starts_with("error_") {
            return (TurnStatus::Completed, stop(fields), None);
        }
        let fault = errors::of_result(fields, self.fault.as_ref(), self.failed_status);
        let stop = match fault.code {
            ErrorCode::MaxTurns => Stop::MaxTurns,
            ErrorCode::MaxBudget => Stop::Budget,
            ErrorCode::OutputLength => Stop::MaxTokens,
            ErrorCode::Refused => Stop::Refusal,
            _ => Stop::Error,
        };
        (TurnStatus::Failed, stop, Some(fault))
    }

    /// Some commands answer in the result alone. Other results repeat the text of the turn.
    fn local_answer(&mut self, fields: &Object<'_>, status: TurnStatus, scribe: &mut Scribe) {
        let answer = fields.filled("result").filter(|_| status == TurnStatus::Completed && !self.has_said());
        if let Some(answer) = answer {
            let id = self.make_up("result", scribe);
            scribe.item_completed(&id, Item::new(AgentMessage::text(answer)));
        }
    }
}

/// A tool that the provider runs itself may never be heard of again.
fn close_server_tools(status: TurnStatus, scribe: &mut Scribe) {
    if status != TurnStatus::Completed {
        return;
    }
    for id in scribe.open_items(None) {
        let item = scribe.item(&id);
        if item.is_some_and(|item| matches!(&item.details, Details::WebSearch(_)) && id.starts_with("srv")) {
            scribe.item_closed(&id, Status::Completed);
        }
    }
}

fn stop(fields: &Object<'_>) -> Stop {
    match fields.str("stop_reason").as_deref() {
        Some("max_tokens") => Stop::MaxTokens,
        Some("refusal") => Stop::Refusal,
        _ => Stop::EndTurn,
    }
}

fn denied(denial: Json<'_>) -> Denied {
    let denial = denial.object();
    Denied {
        tool: denial.string("tool_name").unwrap_or_default(),
        item: denial.str("tool_use_id").map(Id::from),
        input: denial.raw("tool_input"),
    }
}

/// The figures of a reply or of a turn, in the words of the model's API.
pub fn usage(figures: &Object<'_>) -> Usage {
    let written = figures.object("cache_creation");
    let hour = written.count("ephemeral_1h_input_tokens");
    Usage {
        input: figures.count("input_tokens"),
        output: figures.count("output_tokens"),
        cache_read: figures.count("cache_read_input_tokens"),
        cache_write_5m: figures.count("cache_creation_input_tokens").saturating_sub(hour),
        cache_write_1h: hour,
        reasoning: figures.object("output_tokens_details").count("thinking_tokens"),
        cached_in_input: false,
        reasoning_in_output: true,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::Id;

    use super::{REMEMBERED, Seen};

    #[test]
    fn a_reply_that_is_repeated_much_later_counts_once() {
        let mut seen = Seen::default();
        assert!((0..REMEMBERED).all(|n| seen.insert(&Id::from(format!("msg_{n}")))));
        assert!(!seen.insert(&Id::from("msg_0")));
        assert!(seen.insert(&Id::from("one more")), "and the oldest is forgotten, so that memory is bounded");
        assert!(seen.order.len() == REMEMBERED && seen.known.len() == REMEMBERED);
    }
}
