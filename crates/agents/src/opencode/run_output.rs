//! The output of `opencode run --format json`: finished parts, one per line. It has no prompt and no end: the turn
//! begins with the first line, and its outcome follows from the last ones.

use switchboard_event::{Denied, Dir, Fault, Id, Item, Level, Notice, Status, Topic, TurnCompleted};

use super::{
    bus,
    calls::CallState,
    errors,
    parts::{self, SpeechKind},
    tools, turn,
};
use crate::{JsonObject, JsonView, RecordReader, RunRecorder, bounded::BoundedMap};

/// Maximum number of earlier refused tools kept for a turn.
const REFUSALS: usize = 63;

/// Reads the output of a run.
#[derive(Default)]
pub struct RunOutputReader {
    /// The reason why the last step ended.
    finish: Option<String>,
    /// The first error since the last step began.
    fault: Option<Fault>,
    /// Number of steps per message.
    counted: BoundedMap<u32>,
    steps: u64,
    cost: Option<f64>,
    denied: Vec<Denied>,
    /// A tool of the last step was refused. No further step follows then.
    refused: bool,
}

impl RecordReader for RunOutputReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        recorder.set_record_time(fields.get("timestamp").and_then(bus::time));
        recorder.set_agent_session(&fields.get_str("sessionID").unwrap_or_default());
        let part = fields.get_object("part");
        match fields.get_str("type").as_deref() {
            Some("step_start") => self.step_started(recorder),
            Some("text") => say(&part, SpeechKind::Answer, recorder),
            Some("reasoning") => say(&part, SpeechKind::Thought, recorder),
            Some("tool_use") => self.tool_used(&part, recorder),
            Some("step_finish") => self.step_finished(&part, recorder),
            Some("error") => self.failed(&fields, recorder),
            _ => {}
        }
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        let ended = self.refused || self.finish.as_deref().is_some_and(turn::ends_turn);
        if !recorder.in_turn() || self.fault.is_none() && !ended {
            return;
        }
        let (status, stop) = turn::outcome(self.fault.as_ref(), self.finish.as_deref());
        recorder.turn_completed(TurnCompleted {
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

impl RunOutputReader {
    fn step_started(&mut self, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        recorder.write_notice(parts::started());
        (self.finish, self.fault, self.refused) = (None, None, false);
    }

    fn step_finished(&mut self, part: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        let message = Id::from(part.get_str("messageID").unwrap_or_default());
        let step = self.counted.get(&message).map_or(1, |steps| steps.saturating_add(1));
        self.counted.insert(message.clone(), step);
        let usage = parts::usage(part, &message, step, recorder.current_model().map(str::to_owned));
        self.steps = self.steps.saturating_add(1);
        self.cost = usage.cost_usd.map(|cost| self.cost.unwrap_or(0.0) + cost).or(self.cost);
        self.finish = part.get_non_empty("reason");
        recorder.write_notice(parts::finished(part));
        recorder.record_usage(usage);
    }

    fn tool_used(&mut self, part: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        let state = CallState::of_part(part);
        let id = Id::from(part.get_str("id").unwrap_or_default());
        let item = tools::completed_item(tools::item(&state, None, &[], recorder), &state);
        if item.status == Status::Declined {
            self.refused = true;
            let input = state.input.map(JsonView::to_raw);
            self.denied.truncate(REFUSALS);
            self.denied.push(Denied { tool: state.tool.to_string(), item: Some(id.clone()), input });
        }
        let reply = part.get_str("messageID").map(Id::from);
        recorder.item_completed(&id, Item { reply, ..item });
    }

    /// Records an error, which is reported at the end of the turn unless another step follows.
    fn failed(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        let fault = fields.get("error").map(errors::fault);
        let notice = Notice::new(Topic::Control).with_level(Level::Debug).with_name("error");
        recorder.write_notice(Notice { text: fault.as_ref().map(|fault| fault.message.clone()), ..notice });
        self.fault = self.fault.take().or(fault);
    }
}

/// Writes a text that arrived whole.
fn say(part: &JsonObject<'_>, voice: SpeechKind, recorder: &mut RunRecorder) {
    recorder.ensure_turn();
    let id = Id::from(part.get_str("id").unwrap_or_default());
    let text = part.get_str("text").unwrap_or_default();
    let reply = part.get_str("messageID").map(Id::from);
    parts::end(&id, voice, &text, reply.as_ref(), bus::took(&part.get_object("time")), recorder);
}
