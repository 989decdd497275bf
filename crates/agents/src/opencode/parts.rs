//! Parts of the agent's messages: text, reasoning, tool calls and steps. A part always arrives whole, in its current
//! state; only deltas are increments.

use switchboard_event::{
    AgentMessage, Details, Field, Id, Item, Level, Notice, Reasoning, Scope, SessionStatus, Topic, Usage,
};

use super::{
    bus::{
        BusReader, {self},
    },
    errors, messages, offers, status,
};
use crate::{JsonObject, RunRecorder};

/// Identity and content of a part.
pub(super) struct BusPart<'a> {
    pub id: Id,
    pub message: Id,
    pub kind: std::borrow::Cow<'a, str>,
    pub fields: &'a JsonObject<'a>,
}

impl BusReader {
    /// `message.part.updated`.
    pub(super) fn part_updated(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(fields.get_str("id").unwrap_or_default());
        let message = Id::from(fields.get_str("messageID").unwrap_or_default());
        if !self.seen.has(&id) {
            self.seen.insert(id.clone(), self.connections);
        }
        let part = BusPart { id, message, kind: fields.get_str("type").unwrap_or_default(), fields };
        match self.messages.get(&part.message) {
            Some(message) if message.past => recorder.write_notice_about(Some(part.id), copied_notice()),
            Some(message) if message.user => self.user_part(&part.id, &part.message, fields, recorder),
            Some(message) if message.summary && part.kind == "text" => self.keep_summary(fields),
            // Only parts of an answer have times.
            None if part.kind == "text" && !fields.contains_key("time") => {
                self.user_part(&part.id, &part.message, fields, recorder);
            }
            _ => self.agent_part(&part, recorder),
        }
    }

    fn agent_part(&mut self, part: &BusPart<'_>, recorder: &mut RunRecorder) {
        if self.is_over(part, recorder) {
            return self.report_late_update(&part.id, "message.part.updated", recorder);
        }
        if self.main {
            self.turn.ensure_begun(recorder);
        }
        match &*part.kind {
            "text" => self.say(part, SpeechKind::Answer, recorder),
            "reasoning" => self.say(part, SpeechKind::Thought, recorder),
            "tool" => self.tool(part, recorder),
            "step-start" => recorder.write_notice(started()),
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
    fn is_over(&self, part: &BusPart<'_>, recorder: &RunRecorder) -> bool {
        let complete = self.messages.get(&part.message).is_some_and(|message| message.complete);
        self.ended.has(&part.id) || complete && self.main && !recorder.in_turn()
    }

    fn say(&mut self, part: &BusPart<'_>, voice: SpeechKind, recorder: &mut RunRecorder) {
        let time = part.fields.get_object("time");
        let text = part.fields.get_str("text").unwrap_or_default();
        whole(&part.id, voice, &text, Some(&part.message), recorder);
        if time.get_u64("end").is_some() {
            end(&part.id, voice, &text, Some(&part.message), bus::took(&time), recorder);
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
            return self.report_late_update(&id, "message.part.delta", recorder);
        }
        if self.main {
            self.turn.ensure_begun(recorder);
        }
        // The beginning was missed. That the part is an answer is a guess.
        if !recorder.item_is_open(&id) {
            begin(&id, SpeechKind::Answer, Some(&message), recorder);
        }
        grow(&id, &fields.get_str("delta").unwrap_or_default(), recorder);
    }

    /// Returns whether some text of the part was missed. Deltas are useless then until the whole part arrives.
    fn has_gap(&self, part: &str) -> bool {
        self.connections > 1 && self.seen.get(part) != Some(&self.connections)
    }

    /// Keeps the summary of a compaction, which is reported when the compaction ends.
    fn keep_summary(&mut self, fields: &JsonObject<'_>) {
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
            status::report_status(SessionStatus::Compacting, recorder);
        }
    }

    /// Writes a file that the model generated.
    fn show(&mut self, part: &BusPart<'_>, recorder: &mut RunRecorder) {
        let message = AgentMessage { content: vec![messages::file(part.fields)], ..AgentMessage::default() };
        let item = Item { reply: Some(part.message.clone()), ..Item::new(message) };
        recorder.item_completed(&part.id, item);
        self.ended.insert(part.id.clone(), ());
    }

    fn step_finished(&mut self, part: &BusPart<'_>, recorder: &mut RunRecorder) {
        let model = recorder.current_model().map(offers::bare).map(str::to_owned);
        let (model, step) = match self.messages.get_mut(&part.message) {
            Some(message) => {
                message.steps = message.steps.saturating_add(1);
                (message.model.clone().or(model), message.steps)
            }
            None => (model, 1),
        };
        recorder.write_notice(finished(part.fields));
        let usage = usage(part.fields, &part.message, step, model);
        // The cost of a subagent is part of the turn's cost.
        self.turn.add_step_cost(usage.cost_usd);
        recorder.record_usage(usage);
        self.ended.insert(part.id.clone(), ());
    }
}

fn copied_notice() -> Notice {
    Notice::new(Topic::Echo).with_level(Level::Debug).with_name("message.part.updated")
}

fn snapshot(part: &BusPart<'_>) -> Notice {
    let notice = Notice::new(Topic::Snapshot).with_level(Level::Debug).with_name(&*part.kind);
    Notice { detail: part.fields.get_raw("files"), ..notice }
}

fn retry(fields: &JsonObject<'_>) -> Notice {
    let fault = fields.get("error").map(errors::fault);
    let notice = Notice::new(Topic::Retry).with_level(Level::Warning);
    Notice { text: fault.as_ref().map(|fault| fault.message.clone()), error: fault, ..notice }
}

/// Kind of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SpeechKind {
    /// Part of the answer to the user.
    Answer,
    /// Reasoning of the model.
    Thought,
}

impl SpeechKind {
    fn item(self, text: &str) -> Item {
        match self {
            Self::Answer => Item::new(AgentMessage::text(text)),
            Self::Thought => {
                let text = Some(text.to_owned()).filter(|text| !text.is_empty());
                Item::new(Reasoning { text, ..Reasoning::default() })
            }
        }
    }
}

pub fn begin(id: &Id, voice: SpeechKind, reply: Option<&Id>, recorder: &mut RunRecorder) {
    recorder.item_started(id, Item { reply: reply.cloned(), ..voice.item("") });
}

pub fn grow(id: &str, text: &str, recorder: &mut RunRecorder) -> bool {
    recorder.item_append(&Id::from(id), Field::Text, 0, text)
}

/// Updates the text to its current state: appends the new part, or replaces a text that changed.
pub fn whole(id: &Id, voice: SpeechKind, text: &str, reply: Option<&Id>, recorder: &mut RunRecorder) {
    if !recorder.item_is_open(id) {
        begin(id, voice, reply, recorder);
    }
    let Some(known) = known(id, recorder) else { return };
    if let Some(rest) = text.strip_prefix(known) {
        if !rest.is_empty() {
            grow(id, rest, recorder);
        }
    } else if !known.starts_with(text) {
        recorder.item_set(id, Item { reply: reply.cloned(), ..voice.item(text) });
    }
}

/// Completes a text. An end event without text leaves the known text unchanged.
pub fn end(id: &Id, voice: SpeechKind, text: &str, reply: Option<&Id>, took: Option<u64>, recorder: &mut RunRecorder) {
    let mut item = Item { reply: reply.cloned(), duration_ms: took, ..voice.item(text) };
    if text.is_empty()
        && let Some(open) = recorder.open_item(id)
    {
        item.details = open.details.clone();
    }
    recorder.item_completed(id, item);
}

/// Returns the text so far, unless it was truncated.
fn known<'a>(id: &str, recorder: &'a RunRecorder) -> Option<&'a str> {
    match &recorder.open_item(id)?.details {
        Details::AgentMessage(message) if !message.truncated => Some(&message.text),
        Details::Reasoning(reasoning) if !reasoning.truncated => Some(reasoning.text.as_deref().unwrap_or_default()),
        _ => None,
    }
}

pub fn started() -> Notice {
    Notice::new(Topic::Step).with_level(Level::Debug).with_status("started")
}

/// Returns the notice for the end of a model call. The reason is OpenCode's own term.
pub fn finished(step: &JsonObject<'_>) -> Notice {
    let notice = Notice::new(Topic::Step).with_level(Level::Debug).with_status("completed");
    Notice { text: step.get_non_empty("reason").or_else(|| step.get_non_empty("finish")), ..notice }
}

/// Returns the usage of a step. Cache and reasoning tokens are not included in input and output.
pub fn usage(step: &JsonObject<'_>, message: &str, number: u32, model: Option<String>) -> Usage {
    let tokens = step.get_object("tokens");
    let cache = tokens.get_object("cache");
    let reasoning = tokens.get_count("reasoning");
    Usage {
        key: Some(key(message, number)),
        scope: Scope::Reply,
        model,
        input: tokens.get_count("input"),
        output: tokens.get_count("output").saturating_add(reasoning),
        cache_read: cache.get_count("read"),
        cache_write_5m: cache.get_count("write"),
        reasoning,
        cost_usd: step.get_f64("cost"),
        cached_in_input: false,
        reasoning_in_output: false,
        ..Usage::default()
    }
}

/// A message is one reply of the model. Older versions combine several replies in one message.
pub fn key(message: &str, number: u32) -> Id {
    if number > 1 { Id::from(format!("{message}#{number}")) } else { Id::from(message) }
}

#[cfg(test)]
mod tests {

    use super::usage;
    use crate::JsonView;

    #[test]
    fn reasoning_is_added_to_output() {
        let step =
            r#"{"tokens":{"total":120,"input":70,"output":15,"reasoning":5,"cache":{"read":30,"write":0}},"cost":0.5}"#;
        let usage = usage(&JsonView::parse(step).unwrap().as_object(), "msg", 2, None);
        assert_eq!((usage.input, usage.output, usage.reasoning, usage.cache_read), (70, 20, 5, 30));
        assert_eq!((usage.native_input(), usage.native_output(), usage.cost_usd), (70, 15, Some(0.5)));
        assert_eq!(usage.key.as_deref(), Some("msg#2"));
    }
}
