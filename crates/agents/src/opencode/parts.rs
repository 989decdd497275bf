//! Parts of the agent's messages: text, reasoning and tool calls. A part always arrives whole, in its current state;
//! only deltas are increments.

use switchboard_event::{AgentMessage, Id, Item, Level, Notice, SessionStatus, Topic};

use super::{
    bus::Bus,
    errors, offers, prompts,
    speech::{self, Voice},
    status, steps, wire,
};
use crate::{JsonObject, RunRecorder};

/// Identity and content of a part.
pub(super) struct Part<'a> {
    pub id: Id,
    pub message: Id,
    pub kind: std::borrow::Cow<'a, str>,
    pub fields: &'a JsonObject<'a>,
}

impl Bus {
    /// `message.part.updated`.
    pub(super) fn part_updated(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(fields.get_str("id").unwrap_or_default());
        let message = Id::from(fields.get_str("messageID").unwrap_or_default());
        if !self.seen.has(&id) {
            self.seen.insert(id.clone(), self.connections);
        }
        let part = Part { id, message, kind: fields.get_str("type").unwrap_or_default(), fields };
        match self.messages.get(&part.message) {
            Some(message) if message.past => recorder.write_notice_about(Some(part.id), copied()),
            Some(message) if message.user => self.user_part(&part.id, &part.message, fields, recorder),
            Some(message) if message.summary && part.kind == "text" => self.summarised(fields),
            // Only parts of an answer have times.
            None if part.kind == "text" && !fields.contains_key("time") => {
                self.user_part(&part.id, &part.message, fields, recorder);
            }
            _ => self.agent_part(&part, recorder),
        }
    }

    fn agent_part(&mut self, part: &Part<'_>, recorder: &mut RunRecorder) {
        if self.is_over(part, recorder) {
            return self.late(&part.id, "message.part.updated", recorder);
        }
        if self.main {
            self.turn.ensure(recorder);
        }
        match &*part.kind {
            "text" => self.say(part, Voice::Answer, recorder),
            "reasoning" => self.say(part, Voice::Thought, recorder),
            "tool" => self.tool(part, recorder),
            "step-start" => recorder.write_notice(steps::started()),
            "step-finish" => self.step_finished(part, recorder),
            "patch" | "snapshot" => recorder.write_notice(snapshot(part)),
            "retry" => recorder.write_notice(retry(part.fields)),
            "file" => self.show(part, recorder),
            "compaction" => self.compaction_started(part.fields, recorder),
            "agent" | "subtask" => {}
            other => recorder.write_notice(Notice::new(Topic::Unknown).with_level(Level::Debug).with_name(other)),
        }
    }

    /// Returns whether the part is finished or belongs to a finished turn.
    fn is_over(&self, part: &Part<'_>, recorder: &RunRecorder) -> bool {
        let complete = self.messages.get(&part.message).is_some_and(|message| message.complete);
        self.ended.has(&part.id) || complete && self.main && !recorder.in_turn()
    }

    fn say(&mut self, part: &Part<'_>, voice: Voice, recorder: &mut RunRecorder) {
        let time = part.fields.get_object("time");
        let text = part.fields.get_str("text").unwrap_or_default();
        speech::whole(&part.id, voice, &text, Some(&part.message), recorder);
        if time.get_u64("end").is_some() {
            speech::end(&part.id, voice, &text, Some(&part.message), wire::took(&time), recorder);
            self.ended.insert(part.id.clone(), ());
        }
    }

    /// `message.part.delta`.
    pub(super) fn part_delta(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(fields.get_str("partID").unwrap_or_default());
        let message = Id::from(fields.get_str("messageID").unwrap_or_default());
        let told = self.messages.get(&message);
        if !fields.str_equals("field", "text") || told.is_some_and(|message| message.summary) {
            return;
        }
        if self.has_gap(&id) {
            return;
        }
        if self.ended.has(&id) || told.is_some_and(|message| message.past) {
            return self.late(&id, "message.part.delta", recorder);
        }
        if self.main {
            self.turn.ensure(recorder);
        }
        // The beginning was missed. That the part is an answer is a guess.
        if !recorder.item_is_open(&id) {
            speech::begin(&id, Voice::Answer, Some(&message), recorder);
        }
        speech::grow(&id, &fields.get_str("delta").unwrap_or_default(), recorder);
    }

    /// Returns whether some text of the part was missed. Deltas are useless then until the whole part arrives.
    fn has_gap(&self, part: &str) -> bool {
        self.connections > 1 && self.seen.get(part) != Some(&self.connections)
    }

    /// Keeps the summary of a compaction, which is reported when the compaction ends.
    fn summarised(&mut self, fields: &JsonObject<'_>) {
        if self.main && fields.get_object("time").get_u64("end").is_some() {
            self.summary = fields.get_non_empty("text");
        }
    }

    /// `compaction`: starts a compaction of the context.
    pub(super) fn compaction_started(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let reason = if fields.is_true("auto") { "auto" } else { "manual" };
        recorder.write_notice(Notice::new(Topic::Compaction).with_status("started").with_name(reason));
        if self.main {
            self.compacting = true;
            status::doing(SessionStatus::Compacting, recorder);
        }
    }

    /// Writes a file that the model generated.
    fn show(&mut self, part: &Part<'_>, recorder: &mut RunRecorder) {
        let message = AgentMessage { content: vec![prompts::file(part.fields)], ..AgentMessage::default() };
        let item = Item { reply: Some(part.message.clone()), ..Item::new(message) };
        recorder.item_completed(&part.id, item);
        self.ended.insert(part.id.clone(), ());
    }

    fn step_finished(&mut self, part: &Part<'_>, recorder: &mut RunRecorder) {
        let model = recorder.current_model().map(offers::bare).map(str::to_owned);
        let (model, step) = match self.messages.get_mut(&part.message) {
            Some(message) => {
                message.steps = message.steps.saturating_add(1);
                (message.model.clone().or(model), message.steps)
            }
            None => (model, 1),
        };
        recorder.write_notice(steps::finished(part.fields));
        let usage = steps::usage(part.fields, &part.message, step, model);
        // The cost of a subagent is part of the turn's cost.
        self.turn.stepped(usage.cost_usd);
        recorder.record_usage(usage);
        self.ended.insert(part.id.clone(), ());
    }
}

fn copied() -> Notice {
    Notice::new(Topic::Echo).with_level(Level::Debug).with_name("message.part.updated")
}

fn snapshot(part: &Part<'_>) -> Notice {
    let notice = Notice::new(Topic::Snapshot).with_level(Level::Debug).with_name(&*part.kind);
    Notice { detail: part.fields.get_raw("files"), ..notice }
}

fn retry(fields: &JsonObject<'_>) -> Notice {
    let fault = fields.get("error").map(errors::fault);
    let notice = Notice::new(Topic::Retry).with_level(Level::Warning);
    Notice { text: fault.as_ref().map(|fault| fault.message.clone()), error: fault, ..notice }
}
