//! What `opencode run --format json` prints: finished parts, one a line. It names no prompt and no end: the turn
//! begins with the first line, and how it ended follows from the last ones.

use switchboard_event::{Denied, Dir, Fault, Id, Item, Level, Notice, Status, Topic, TurnCompleted};

use super::{
    errors,
    recent::Recent,
    speech::{self, Voice},
    state::State,
    steps, tools, turn, wire,
};
use crate::{Json, Object, Reader, Scribe};

/// How many refused tools are kept.
const REFUSALS: usize = 63;

/// Reads what a run prints.
#[derive(Default)]
pub struct Run {
    /// Why the last step ended.
    finish: Option<String>,
    /// What went wrong since the last step began.
    fault: Option<Fault>,
    /// How many steps each message had.
    counted: Recent<u32>,
    steps: u64,
    cost: Option<f64>,
    denied: Vec<Denied>,
    /// A tool of the last step was not allowed: then there is no other step.
    refused: bool,
}

impl Reader for Run {
    fn tells_time(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        scribe.happened(fields.get("timestamp").and_then(wire::time));
        scribe.identify(&fields.str("sessionID").unwrap_or_default());
        let part = fields.object("part");
        match fields.str("type").as_deref() {
            Some("step_start") => self.step_started(scribe),
            Some("text") => say(&part, Voice::Answer, scribe),
            Some("reasoning") => say(&part, Voice::Thought, scribe),
            Some("tool_use") => self.tool_used(&part, scribe),
            Some("step_finish") => self.step_finished(&part, scribe),
            Some("error") => self.failed(&fields, scribe),
            _ => {}
        }
    }

    fn end(&mut self, scribe: &mut Scribe) {
        let ended = self.refused || self.finish.as_deref().is_some_and(turn::ends_turn);
        if !scribe.in_turn() || self.fault.is_none() && !ended {
            return;
        }
        let (status, stop) = turn::outcome(self.fault.as_ref(), self.finish.as_deref());
        scribe.turn_completed(TurnCompleted {
            status,
            stop,
            error: self.fault.take(),
            steps: Some(self.steps).filter(|steps| *steps > 0),
            cost_usd: self.cost,
            denied: std::mem::take(&mut self.denied),
            ..TurnCompleted::default()
        });
    }
}

impl Run {
    fn step_started(&mut self, scribe: &mut Scribe) {
        scribe.ensure_turn();
        scribe.notice(steps::started());
        (self.finish, self.fault, self.refused) = (None, None, false);
    }

    fn step_finished(&mut self, part: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        let message = Id::from(part.str("messageID").unwrap_or_default());
        let step = self.counted.get(&message).map_or(1, |steps| steps.saturating_add(1));
        self.counted.insert(message.clone(), step);
        let usage = steps::usage(part, &message, step, scribe.model().map(str::to_owned));
        self.steps = self.steps.saturating_add(1);
        self.cost = usage.cost_usd.map(|cost| self.cost.unwrap_or(0.0) + cost).or(self.cost);
        self.finish = part.filled("reason");
        scribe.notice(steps::finished(part));
        scribe.usage(usage);
    }

    fn tool_used(&mut self, part: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        let state = State::of_part(part);
        let id = Id::from(part.str("id").unwrap_or_default());
        let item = tools::ended(tools::item(&state, None, &[], scribe), &state);
        if item.status == Status::Declined {
            self.refused = true;
            let input = state.input.map(Json::to_raw);
            self.denied.truncate(REFUSALS);
            self.denied.push(Denied { tool: state.tool.to_string(), item: Some(id.clone()), input });
        }
        let reply = part.str("messageID").map(Id::from);
        scribe.item_completed(&id, Item { reply, ..item });
    }

    /// An error is told by the end of the turn, unless another step follows it after all.
    fn failed(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        let fault = fields.get("error").map(errors::fault);
        let notice = Notice::new(Topic::Control).with_level(Level::Debug).with_name("error");
        scribe.notice(Notice { text: fault.as_ref().map(|fault| fault.message.clone()), ..notice });
        self.fault = self.fault.take().or(fault);
    }
}

/// Something was said, all at once.
fn say(part: &Object<'_>, voice: Voice, scribe: &mut Scribe) {
    scribe.ensure_turn();
    let id = Id::from(part.str("id").unwrap_or_default());
    let text = part.str("text").unwrap_or_default();
    let reply = part.str("messageID").map(Id::from);
    speech::end(&id, voice, &text, reply.as_ref(), wire::took(&part.object("time")), scribe);
}
