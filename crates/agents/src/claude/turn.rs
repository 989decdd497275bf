//! Turns and what they cost: `result` ends one, and says what it used.

use std::collections::VecDeque;

use switchboard_event::{
    AgentMessage, Denied, Details, ErrorCode, Fault, Id, Item, Scope, Status, Stop, TurnCompleted, TurnStatus, Usage,
};

use super::{errors, live::Live};
use crate::{Json, Object, Scribe};

/// How many replies are remembered as counted. Only neighbours ever repeat.
const REMEMBERED: usize = 32;

/// What was used and spent.
#[derive(Default)]
pub struct Books {
    /// Replies of this turn that were counted one by one.
    counted: Usage,
    seen: VecDeque<Id>,
    /// What the process had spent when the turn began: Claude's figure runs on.
    spent: f64,
    /// What the turn was asked.
    pub prompt: Option<String>,
}

impl Books {
    /// A turn begins.
    pub fn begin(&mut self, prompt: Option<String>) {
        self.counted = Usage::default();
        self.prompt = prompt;
    }

    /// Counts a reply, once.
    pub fn reply(&mut self, usage: Usage, scribe: &mut Scribe) {
        if let Some(key) = &usage.key {
            if self.seen.contains(key) {
                return;
            }
            self.seen.push_back(key.clone());
            if self.seen.len() > REMEMBERED {
                self.seen.pop_front();
            }
        }
        self.counted.add(&usage);
        scribe.usage(usage);
    }

    /// Counts what is left of a turn: replies that were not streamed are only in the turn's figures.
    fn turn(&mut self, total: &Usage, model: Option<String>, scribe: &mut Scribe) {
        let rest = total.minus(&self.counted);
        scribe.usage(Usage { scope: Scope::Turn, model, ..rest });
    }

    fn cost(&mut self, total: Option<f64>) -> Option<f64> {
        let total = total?;
        // Differences of running sums have a tail of digits that mean nothing.
        let cost = ((total - self.spent).max(0.0) * 1e9).round() / 1e9;
        self.spent = total;
        Some(cost).filter(|cost| cost.is_finite())
    }
}

impl Live {
    /// `result`.
    pub(super) fn result(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        self.ensure_turn(scribe);
        let (status, stop, error) = self.outcome(fields);
        self.local_answer(fields, status, scribe);
        close_server_tools(status, scribe);
        self.books.turn(&usage(&fields.object("usage")), only_model(fields), scribe);
        scribe.turn_completed(TurnCompleted {
            status,
            stop,
            error,
            duration_ms: fields.u64("duration_ms"),
            steps: fields.u64("num_turns"),
            cost_usd: self.books.cost(fields.f64("total_cost_usd")),
            denied: fields.array("permission_denials").into_iter().map(denied).collect(),
            result: fields.raw("structured_output").map(|raw| raw.get().to_owned()),
        });
        self.fault = None;
    }

    /// Claude's own words for how a turn ended are misleading: an API error is a `success` with `is_error`, and an
    /// interruption is an error.
    fn outcome(&self, fields: &Object<'_>) -> (TurnStatus, Stop, Option<Fault>) {
        let subtype = fields.str("subtype").unwrap_or_default();
        let reason = fields.str("terminal_reason").unwrap_or_default();
        if reason.starts_with("aborted_") {
            let fault = Fault::new(ErrorCode::Aborted, "interrupted").with_info(reason);
            return (TurnStatus::Interrupted, Stop::Cancelled, Some(fault));
        }
        if !fields.is_true("is_error") && !subtype.starts_with("error_") {
            return (TurnStatus::Completed, stop(fields), None);
        }
        let fault = errors::of_result(fields, self.fault.as_ref());
        let stop = match fault.code {
            ErrorCode::MaxTurns => Stop::MaxTurns,
            ErrorCode::MaxBudget => Stop::Budget,
            ErrorCode::OutputLength => Stop::MaxTokens,
            ErrorCode::Refused => Stop::Refusal,
            _ => Stop::Error,
        };
        (TurnStatus::Failed, stop, Some(fault))
    }

    /// Some commands answer in the result alone.
    fn local_answer(&mut self, fields: &Object<'_>, status: TurnStatus, scribe: &mut Scribe) {
        let answer = fields.filled("result").filter(|_| status == TurnStatus::Completed && !self.said);
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

/// The turn's model, if there was only one.
fn only_model(fields: &Object<'_>) -> Option<String> {
    let models = fields.object("modelUsage");
    let mut names = models.iter().map(|(name, _)| name.to_owned());
    names.next().filter(|_| names.next().is_none())
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
