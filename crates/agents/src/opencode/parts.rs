//! Parts of the agent's messages: what it says, thinks and does. A part always comes whole, as far as it got; only
//! deltas are increments.

use switchboard_event::{AgentMessage, Id, Item, Level, Notice, SessionStatus, Topic};

use super::{
    bus::Bus,
    errors, offers, prompts,
    speech::{self, Voice},
    status, steps, wire,
};
use crate::{Object, Scribe};

/// What tells a part from all others.
pub(super) struct Part<'a> {
    pub id: Id,
    pub message: Id,
    pub kind: std::borrow::Cow<'a, str>,
    pub fields: &'a Object<'a>,
}

impl Bus {
    /// `message.part.updated`.
    pub(super) fn part_updated(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let id = Id::from(fields.str("id").unwrap_or_default());
        let message = Id::from(fields.str("messageID").unwrap_or_default());
        if !self.seen.has(&id) {
            self.seen.insert(id.clone(), self.connections);
        }
        let part = Part { id, message, kind: fields.str("type").unwrap_or_default(), fields };
        match self.messages.get(&part.message) {
            Some(message) if message.past => scribe.notice_about(Some(part.id), copied()),
            Some(message) if message.user => self.user_part(&part.id, &part.message, fields, scribe),
            Some(message) if message.summary && part.kind == "text" => self.summarised(fields),
            // A prompt has no times; an answer has.
            None if part.kind == "text" && !fields.has("time") => {
                self.user_part(&part.id, &part.message, fields, scribe);
            }
            _ => self.agent_part(&part, scribe),
        }
    }

    fn agent_part(&mut self, part: &Part<'_>, scribe: &mut Scribe) {
        if self.is_over(part, scribe) {
            return self.late(&part.id, "message.part.updated", scribe);
        }
        if self.main {
            self.turn.ensure(scribe);
        }
        match &*part.kind {
            "text" => self.say(part, Voice::Answer, scribe),
            "reasoning" => self.say(part, Voice::Thought, scribe),
            "tool" => self.tool(part, scribe),
            "step-start" => scribe.notice(steps::started()),
            "step-finish" => self.step_finished(part, scribe),
            "patch" | "snapshot" => scribe.notice(snapshot(part)),
            "retry" => scribe.notice(retry(part.fields)),
            "file" => self.show(part, scribe),
            "compaction" => self.compaction_started(part.fields, scribe),
            "agent" | "subtask" => {}
            other => scribe.notice(Notice::new(Topic::Unknown).with_level(Level::Debug).with_name(other)),
        }
    }

    /// The part is finished, or belongs to a turn that is.
    fn is_over(&self, part: &Part<'_>, scribe: &Scribe) -> bool {
        let complete = self.messages.get(&part.message).is_some_and(|message| message.complete);
        self.ended.has(&part.id) || complete && self.main && !scribe.in_turn()
    }

    fn say(&mut self, part: &Part<'_>, voice: Voice, scribe: &mut Scribe) {
        let time = part.fields.object("time");
        let text = part.fields.str("text").unwrap_or_default();
        speech::whole(&part.id, voice, &text, Some(&part.message), scribe);
        if time.u64("end").is_some() {
            speech::end(&part.id, voice, &text, Some(&part.message), wire::took(&time), scribe);
            self.ended.insert(part.id.clone(), ());
        }
    }

    /// `message.part.delta`.
    pub(super) fn part_delta(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let id = Id::from(fields.str("partID").unwrap_or_default());
        let message = Id::from(fields.str("messageID").unwrap_or_default());
        let told = self.messages.get(&message);
        if !fields.is("field", "text") || told.is_some_and(|message| message.summary) {
            return;
        }
        if self.has_gap(&id) {
            return;
        }
        if self.ended.has(&id) || told.is_some_and(|message| message.past) {
            return self.late(&id, "message.part.delta", scribe);
        }
        if self.main {
            self.turn.ensure(scribe);
        }
        // The beginning was missed; that it is an answer is a guess.
        if !scribe.item_is_open(&id) {
            speech::begin(&id, Voice::Answer, Some(&message), scribe);
        }
        speech::grow(&id, &fields.str("delta").unwrap_or_default(), scribe);
    }

    /// Something of what a part says was missed: more of it makes no sense until all of it comes.
    fn has_gap(&self, part: &str) -> bool {
        self.connections > 1 && self.seen.get(part) != Some(&self.connections)
    }

    /// The summary that a compaction leaves is told when the compaction is over.
    fn summarised(&mut self, fields: &Object<'_>) {
        if self.main && fields.object("time").u64("end").is_some() {
            self.summary = fields.filled("text");
        }
    }

    /// `compaction`: from here on the context is made smaller.
    pub(super) fn compaction_started(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let reason = if fields.is_true("auto") { "auto" } else { "manual" };
        scribe.notice(Notice::new(Topic::Compaction).with_status("started").with_name(reason));
        if self.main {
            self.compacting = true;
            status::doing(SessionStatus::Compacting, scribe);
        }
    }

    /// Files that the model made.
    fn show(&mut self, part: &Part<'_>, scribe: &mut Scribe) {
        let message = AgentMessage { content: vec![prompts::file(part.fields)], ..AgentMessage::default() };
        let item = Item { reply: Some(part.message.clone()), ..Item::new(message) };
        scribe.item_completed(&part.id, item);
        self.ended.insert(part.id.clone(), ());
    }

    fn step_finished(&mut self, part: &Part<'_>, scribe: &mut Scribe) {
        let model = scribe.model().map(offers::bare).map(str::to_owned);
        let (model, step) = match self.messages.get_mut(&part.message) {
            Some(message) => {
                message.steps = message.steps.saturating_add(1);
                (message.model.clone().or(model), message.steps)
            }
            None => (model, 1),
        };
        scribe.notice(steps::finished(part.fields));
        let usage = steps::usage(part.fields, &part.message, step, model);
        // What a subagent spends, the turn spends.
        self.turn.stepped(usage.cost_usd);
        scribe.usage(usage);
        self.ended.insert(part.id.clone(), ());
    }
}

fn copied() -> Notice {
    Notice::new(Topic::Echo).with_level(Level::Debug).with_name("message.part.updated")
}

fn snapshot(part: &Part<'_>) -> Notice {
    let notice = Notice::new(Topic::Snapshot).with_level(Level::Debug).with_name(&*part.kind);
    Notice { detail: part.fields.raw("files"), ..notice }
}

fn retry(fields: &Object<'_>) -> Notice {
    let fault = fields.get("error").map(errors::fault);
    let notice = Notice::new(Topic::Retry).with_level(Level::Warning);
    Notice { text: fault.as_ref().map(|fault| fault.message.clone()), error: fault, ..notice }
}
