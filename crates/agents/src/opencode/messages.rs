//! Messages: their author, the message they reply to, and when they are complete. Their content arrives in parts.

use switchboard_event::{AgentMessage, Details, Id, Info, Item, Notice, Status, Topic, to_raw_json};

use super::{bus::Bus, errors, offers};
use crate::{JsonObject, RunRecorder};

/// State of a message.
pub struct Message {
    /// The author is the user.
    pub user: bool,
    /// It is a summary of the conversation, not an answer.
    pub summary: bool,
    /// The message is older than this stream: copied into a forked session, or complete when first seen.
    pub past: bool,
    /// No further content follows.
    pub complete: bool,
    /// The model that writes the message.
    pub model: Option<String>,
    /// Number of model calls counted for the message.
    pub steps: u32,
}

impl Message {
    pub fn new(info: &JsonObject<'_>, past: bool) -> Self {
        let user = info.str_equals("role", "user");
        let complete = past && info.get_object("time").get_u64("completed").is_some();
        Self {
            user,
            summary: !user && info.is_true("summary"),
            past,
            complete,
            model: info.get_non_empty("modelID"),
            steps: 0,
        }
    }
}

impl Bus {
    /// `message.updated`: the whole message without its parts.
    pub(super) fn message_updated(&mut self, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(info.get_str("id").unwrap_or_default());
        match info.get_str("role").as_deref() {
            Some("user") => self.user_message(&id, info, recorder),
            Some("assistant") => self.assistant_message(&id, info, recorder),
            _ => {}
        }
    }

    fn user_message(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if self.messages.has(id) {
            return;
        }
        let past = self.remember(id, info);
        if self.main && !past {
            self.posted.arrived();
        }
        let model = info.get_object("model");
        if self.main {
            let (model, provider) = (model.get_non_empty("modelID"), model.get_non_empty("providerID"));
            self.works_with(Info { mode: info.get_non_empty("agent"), model, provider, ..Info::default() }, recorder);
        }
    }

    /// Reports the mode and the model at work.
    fn works_with(&mut self, info: Info, recorder: &mut RunRecorder) {
        self.moded |= info.mode.is_some();
        let model = offers::full(info.provider.clone(), info.model);
        self.offers.uses(model.clone());
        recorder.update_info(Info { model, options: self.offers.options(), ..info });
    }

    /// Remembers a message seen for the first time. Returns whether it is older than this stream.
    fn remember(&mut self, id: &Id, info: &JsonObject<'_>) -> bool {
        let time = info.get_object("time");
        let complete = info.str_equals("role", "assistant") && time.get_u64("completed").is_some();
        let past = complete || self.main && self.sessions.is_copied(time.get_u64("created"));
        self.messages.insert(id.clone(), Message::new(info, past));
        past
    }

    pub(super) fn reply_begun(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let to = info.get_str("parentID").map(Id::from);
        if recorder.in_turn() && self.turn.is_stale(to.as_deref()) {
            self.end_turn(recorder);
        }
        self.turn.replying(id.clone(), to, recorder);
    }

    fn assistant_message(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if !self.messages.has(id) && !self.remember(id, info) && self.main {
            self.reply_begun(id, info, recorder);
        }
        if !self.main {
            return self.complete(id, info, recorder);
        }
        if !info.is_true("summary") {
            let (model, provider) = (info.get_non_empty("modelID"), info.get_non_empty("providerID"));
            let (cwd, mode) = (
                info.get_object("path").get_non_empty("cwd"),
                info.get_non_empty("agent").or_else(|| info.get_non_empty("mode")),
            );
            self.works_with(Info { cwd, mode, model, provider, ..Info::default() }, recorder);
        }
        if self.turn.awaits(id) {
            if let Some(error) = info.get("error") {
                self.turn.fault = Some(errors::fault(error));
            }
            self.turn.finish = info.get_non_empty("finish").or(self.turn.finish.take());
        }
        self.structured(id, info, recorder);
        self.complete(id, info, recorder);
    }

    /// Writes an answer that follows a schema. It is a field of the message, not text of the model.
    fn structured(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(answer) = info.get("structured").filter(|_| self.turn.awaits(id)) else { return };
        // The answer was given by a tool call, but it ends the turn.
        self.turn.finish = Some("stop".to_owned());
        let part = Id::from(format!("{id}/structured"));
        if !self.ended.has(&part) {
            let item = Item { reply: Some(id.clone()), ..Item::new(AgentMessage::text(answer.raw_text())) };
            recorder.item_completed(&part, item);
            self.ended.insert(part, ());
        }
    }

    /// Marks a message as complete. No more text follows, but its tools may still report results.
    fn complete(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if info.get_object("time").get_u64("completed").is_none() {
            return;
        }
        if let Some(message) = self.messages.get_mut(id) {
            message.complete = true;
        }
        for part in self.items_of(id, recorder) {
            if is_speech(&part, recorder) {
                recorder.item_closed(&part, Status::Completed);
                self.ended.insert(part, ());
            }
        }
        if self.main && self.turn.awaits(id) {
            self.turn.replied(id, recorder);
            if self.turn.is_over() {
                self.rest(recorder);
            }
        }
    }

    /// `message.removed`.
    pub(super) fn message_removed(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.write_notice(taken_back("message.removed", fields));
        let message = fields.get_str("messageID").unwrap_or_default();
        for part in self.items_of(&message, recorder) {
            recorder.item_closed(&part, Status::Superseded);
            self.ended.insert(part, ());
        }
    }

    /// `message.part.removed`.
    pub(super) fn part_removed(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let part = Id::from(fields.get_str("partID").unwrap_or_default());
        recorder.write_notice_about(Some(part.clone()), taken_back("message.part.removed", fields));
        recorder.item_closed(&part, Status::Superseded);
        self.ended.insert(part, ());
    }

    fn items_of(&self, message: &str, recorder: &RunRecorder) -> Vec<Id> {
        let mut items = recorder.open_items(self.thread.as_deref());
        items.retain(|id| recorder.open_item(id).is_some_and(|item| item.reply.as_deref() == Some(message)));
        items
    }
}

fn taken_back(name: &str, fields: &JsonObject<'_>) -> Notice {
    let detail = Removed { message: fields.get_non_empty("messageID"), part: fields.get_non_empty("partID") };
    let notice = Notice::new(Topic::Retracted).with_name(name);
    Notice { detail: Some(to_raw_json(&detail)), ..notice }
}

#[derive(serde::Serialize)]
struct Removed {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
}

fn is_speech(id: &str, recorder: &RunRecorder) -> bool {
    recorder.open_item(id).is_some_and(|item| matches!(item.details, Details::AgentMessage(_) | Details::Reasoning(_)))
}
