//! Messages: who says something, to what it is a reply, and when it is complete. What is said comes in parts.

use switchboard_event::{AgentMessage, Details, Id, Info, Item, Notice, Status, Topic, raw};

use super::{bus::Bus, errors, offers};
use crate::{Object, Scribe};

/// What is remembered about a message.
pub struct Message {
    /// The user said it.
    pub user: bool,
    /// It is a summary of the conversation, not an answer.
    pub summary: bool,
    /// It was there before: copied into a forked session, or complete when it was first heard of.
    pub past: bool,
    /// Nothing more is said in it.
    pub complete: bool,
    /// The model that says it.
    pub model: Option<String>,
    /// How many calls of the model were counted for it.
    pub steps: u32,
}

impl Message {
    /// A message as it is first heard of.
    pub fn new(info: &Object<'_>, past: bool) -> Self {
        let user = info.is("role", "user");
        let complete = past && info.object("time").u64("completed").is_some();
        Self {
            user,
            summary: !user && info.is_true("summary"),
            past,
            complete,
            model: info.filled("modelID"),
            steps: 0,
        }
    }
}

impl Bus {
    /// `message.updated`: all of the message, without its parts.
    pub(super) fn message_updated(&mut self, info: &Object<'_>, scribe: &mut Scribe) {
        let id = Id::from(info.str("id").unwrap_or_default());
        match info.str("role").as_deref() {
            Some("user") => self.user_message(&id, info, scribe),
            Some("assistant") => self.assistant_message(&id, info, scribe),
            _ => {}
        }
    }

    fn user_message(&mut self, id: &Id, info: &Object<'_>, scribe: &mut Scribe) {
        if self.messages.has(id) {
            return;
        }
        let past = self.remember(id, info);
        if self.main && !past {
            self.posted.arrived();
        }
        let model = info.object("model");
        if self.main {
            let (model, provider) = (model.filled("modelID"), model.filled("providerID"));
            self.works_with(Info { mode: info.filled("agent"), model, provider, ..Info::default() }, scribe);
        }
    }

    /// Who works, and with which model.
    fn works_with(&mut self, info: Info, scribe: &mut Scribe) {
        self.moded |= info.mode.is_some();
        let model = offers::full(info.provider.clone(), info.model);
        self.offers.uses(model.clone());
        scribe.info(Info { model, options: self.offers.options(), ..info });
    }

    /// A message is heard of for the first time; true if it was there before.
    fn remember(&mut self, id: &Id, info: &Object<'_>) -> bool {
        let time = info.object("time");
        let complete = info.is("role", "assistant") && time.u64("completed").is_some();
        let past = complete || self.main && self.sessions.is_copied(time.u64("created"));
        self.messages.insert(id.clone(), Message::new(info, past));
        past
    }

    /// A reply began.
    pub(super) fn reply_begun(&mut self, id: &Id, info: &Object<'_>, scribe: &mut Scribe) {
        let to = info.str("parentID").map(Id::from);
        if scribe.in_turn() && self.turn.is_stale(to.as_deref()) {
            self.end_turn(scribe);
        }
        self.turn.replying(id.clone(), to, scribe);
    }

    fn assistant_message(&mut self, id: &Id, info: &Object<'_>, scribe: &mut Scribe) {
        if !self.messages.has(id) && !self.remember(id, info) && self.main {
            self.reply_begun(id, info, scribe);
        }
        if !self.main {
            return self.complete(id, info, scribe);
        }
        if !info.is_true("summary") {
            let (model, provider) = (info.filled("modelID"), info.filled("providerID"));
            let (cwd, mode) = (info.object("path").filled("cwd"), info.filled("agent").or_else(|| info.filled("mode")));
            self.works_with(Info { cwd, mode, model, provider, ..Info::default() }, scribe);
        }
        if self.turn.awaits(id) {
            if let Some(error) = info.get("error") {
                self.turn.fault = Some(errors::fault(error));
            }
            self.turn.finish = info.filled("finish").or(self.turn.finish.take());
        }
        self.structured(id, info, scribe);
        self.complete(id, info, scribe);
    }

    /// An answer that follows a schema is no text of the model's: it stands beside the message.
    fn structured(&mut self, id: &Id, info: &Object<'_>, scribe: &mut Scribe) {
        let Some(answer) = info.get("structured").filter(|_| self.turn.awaits(id)) else { return };
        // It was given by calling a tool, but it is the end of the turn.
        self.turn.finish = Some("stop".to_owned());
        let part = Id::from(format!("{id}/structured"));
        if !self.ended.has(&part) {
            let item = Item { reply: Some(id.clone()), ..Item::new(AgentMessage::text(answer.text())) };
            scribe.item_completed(&part, item);
            self.ended.insert(part, ());
        }
    }

    /// Nothing more is said in a complete message; its tools may still have something to report.
    fn complete(&mut self, id: &Id, info: &Object<'_>, scribe: &mut Scribe) {
        if info.object("time").u64("completed").is_none() {
            return;
        }
        if let Some(message) = self.messages.get_mut(id) {
            message.complete = true;
        }
        for part in self.items_of(id, scribe) {
            if is_speech(&part, scribe) {
                scribe.item_closed(&part, Status::Completed);
                self.ended.insert(part, ());
            }
        }
        if self.main && self.turn.awaits(id) {
            self.turn.replied(id, scribe);
            if self.turn.is_over() {
                self.rest(scribe);
            }
        }
    }

    /// `message.removed`.
    pub(super) fn message_removed(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.notice(taken_back("message.removed", fields));
        let message = fields.str("messageID").unwrap_or_default();
        for part in self.items_of(&message, scribe) {
            scribe.item_closed(&part, Status::Superseded);
            self.ended.insert(part, ());
        }
    }

    /// `message.part.removed`.
    pub(super) fn part_removed(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let part = Id::from(fields.str("partID").unwrap_or_default());
        scribe.notice_about(Some(part.clone()), taken_back("message.part.removed", fields));
        scribe.item_closed(&part, Status::Superseded);
        self.ended.insert(part, ());
    }

    /// The open items of a message.
    fn items_of(&self, message: &str, scribe: &Scribe) -> Vec<Id> {
        let mut items = scribe.open_items(self.thread.as_deref());
        items.retain(|id| scribe.item(id).is_some_and(|item| item.reply.as_deref() == Some(message)));
        items
    }
}

fn taken_back(name: &str, fields: &Object<'_>) -> Notice {
    let detail = Removed { message: fields.filled("messageID"), part: fields.filled("partID") };
    let notice = Notice::new(Topic::Retracted).with_name(name);
    Notice { detail: Some(raw(&detail)), ..notice }
}

#[derive(serde::Serialize)]
struct Removed {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
}

fn is_speech(id: &str, scribe: &Scribe) -> bool {
    scribe.item(id).is_some_and(|item| matches!(item.details, Details::AgentMessage(_) | Details::Reasoning(_)))
}
