//! The session logs of Gemini CLI: `tmp/<project>/chats/*.jsonl`, where later records change what earlier ones say;
//! older `*.json`, of which each message is a record; and `logs.json`, of which each element is one. Not the live streams.

mod calls;
mod context;
mod files;
mod messages;
mod parts;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use switchboard_event::{
    Dir, EndReason, Id, Info, Item, Level, Notice, Origin, Timestamp, Topic, TurnCompleted, TurnStarted, Usage,
    UserMessage,
};

pub use files::LOGS;

use crate::{Ending, Json, Object, Reader, Scribe};

/// Reads a log, record by record.
#[derive(Default)]
pub struct Log {
    /// The session's id, until the next record has said where it works too: the beginning is told with both.
    session: Option<String>,
    /// The messages that there are now, in their order.
    order: Vec<String>,
    present: HashSet<String>,
    /// All messages that there ever were.
    seen: HashMap<String, Seen>,
    /// Messages that a list in place of all others did not have. When a session is continued, another list soon has them.
    missing: Vec<String>,
    /// The calls of tools that are known.
    calls: HashSet<Id>,
    /// The last thing that happened is an answer: the turn may be over.
    answered: bool,
}

/// What is known of a message.
#[derive(Default)]
struct Seen {
    text: String,
    thoughts: usize,
    usage: Option<Usage>,
    versions: u32,
}

/// A reader of logs.
pub fn reader() -> Box<dyn Reader> {
    Box::new(Log::default())
}

impl Reader for Log {
    fn tells_time(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: Json<'_>, scribe: &mut Scribe) {
        self.introduce(scribe);
        let fields = record.object();
        if let Some(set) = fields.get("$set") {
            self.set(&set.object(), scribe);
        } else if let Some(id) = fields.str("$rewindTo") {
            self.rewind(&id, scribe);
        } else if let Some(patch) = fields.get("$patch") {
            self.patch(&patch.object(), scribe);
        } else if fields.has("messageId") && fields.has("message") {
            self.typed(&fields, scribe);
        } else if fields.has("id") {
            self.message(&fields, scribe);
            self.miss(scribe);
        } else if fields.has("sessionId") {
            self.header(&fields, scribe);
        }
    }

    /// `logs.json` has what was typed in all sessions of a project.
    fn is_another(&self, record: Json<'_>, scribe: &Scribe) -> bool {
        let fields = record.object();
        let typed = fields.get("messageId").and(fields.str("sessionId"));
        matches!((typed, scribe.session()), (Some(session), Some(known)) if session != **known)
    }

    fn end(&mut self, scribe: &mut Scribe) {
        self.introduce(scribe);
        self.miss(scribe);
        if self.answered && scribe.in_turn() {
            scribe.turn_completed(TurnCompleted::default());
        }
        if !scribe.in_turn() {
            // A log says nothing about its end, and nothing is missing.
            scribe.session_ending(Ending { reason: EndReason::Completed, error: None });
        }
    }
}

impl Log {
    fn introduce(&mut self, scribe: &mut Scribe) {
        if let Some(session) = self.session.take() {
            scribe.identify(&session);
        }
    }

    /// What is known about the session; each time that it is continued, once more. In one line with all messages, as
    /// files were before they had several, these count too.
    fn header(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.happened(time(fields, "startTime"));
        if scribe.session().is_none() {
            self.session = fields.filled("sessionId");
        }
        self.about(fields, scribe);
        self.replace(fields, scribe);
        scribe.otherwise(Notice::new(Topic::Control).with_level(Level::Debug).with_name("resumed"));
    }

    /// What becomes known about the session.
    fn about(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let cwd = fields.strings("directories").into_iter().next().filter(|_| scribe.cwd().is_none());
        let is_first = scribe.session().is_none() && self.order.is_empty();
        let title = fields.filled("summary");
        let project_hash = fields.filled("projectHash");
        if is_first || cwd.is_some() || title.is_some() || project_hash.is_some() {
            scribe.info(Info { cwd, title: title.clone(), project_hash, ..Info::default() });
        }
        if let Some(summary) = title {
            scribe.notice(Notice::new(Topic::Status).with_status("summary").with_text(summary));
        }
    }

    /// Metadata that changed, and at times all messages anew.
    fn set(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.happened(time(fields, "lastUpdated"));
        if scribe.session().is_none() {
            self.session = fields.filled("sessionId");
            self.introduce(scribe);
        }
        self.about(fields, scribe);
        self.replace(fields, scribe);
        scribe.otherwise(Notice::new(Topic::Control).with_level(Level::Debug).with_name("$set"));
    }

    /// All messages, in place of those before. Most are those before.
    fn replace(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        if fields.get("messages").is_none_or(|messages| !messages.text().starts_with('[')) {
            return;
        }
        let messages = fields.array("messages");
        let ids: Vec<String> = messages.iter().filter_map(|message| message.object().filled("id")).collect();
        let present = HashSet::from_iter(ids.iter().cloned());
        let gone: Vec<_> = self.order.iter().filter(|id| !present.contains(*id)).cloned().collect();
        for message in messages {
            let message = message.object();
            let known = message.str("id").is_some_and(|id| self.seen.contains_key(&*id));
            match known {
                // It is told again, at times with less and at another time.
                true => self.again(&message, scribe),
                false => self.message(&message, scribe),
            }
        }
        (self.order, self.present) = (ids, present);
        self.missing.extend(gone);
    }

    /// What is still missing when the conversation goes on is taken back.
    fn miss(&mut self, scribe: &mut Scribe) {
        let mut missing = std::mem::take(&mut self.missing);
        missing.retain(|id| !self.present.contains(id));
        taken_back("$set", &missing, scribe);
    }

    /// A message and all behind it are taken back; all, if nobody knows it. What they used was used.
    fn rewind(&mut self, id: &str, scribe: &mut Scribe) {
        let at = self.order.iter().position(|known| known == id).unwrap_or(0);
        let gone = self.order.split_off(at);
        self.present.retain(|id| !gone.contains(id));
        taken_back("$rewindTo", &gone, scribe);
        scribe.otherwise(Notice::new(Topic::Control).with_level(Level::Debug).with_name("$rewindTo"));
    }

    /// Messages change in part.
    fn patch(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        self.again(fields, scribe);
        for part in fields.array("updates").into_iter().map(Json::object) {
            let is_new = part.has("type") && part.str("id").is_some_and(|id| !self.seen.contains_key(&*id));
            if is_new { self.message(&part, scribe) } else { self.again(&part, scribe) }
        }
        let removed = fields.strings("removeIds");
        self.order.retain(|id| !removed.contains(id));
        self.present.retain(|id| !removed.contains(id));
        taken_back("$patch", &removed, scribe);
        scribe.otherwise(Notice::new(Topic::Control).with_level(Level::Debug).with_name("$patch"));
    }

    /// An element of `logs.json`: what a person typed, be it a command.
    fn typed(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.happened(time(fields, "timestamp"));
        scribe.identify(&fields.str("sessionId").unwrap_or_default());
        let text = fields.string("message").unwrap_or_default();
        let number = fields.get("messageId").map(|number| number.display().into_owned()).unwrap_or_default();
        self.answered = true;
        let turn = TurnStarted { origin: Origin::Command, prompt: Some(text.clone()), ..TurnStarted::default() };
        scribe.turn_started(turn);
        scribe.item_completed(&Id::from(number), Item::new(UserMessage::text(text)));
    }
}

/// Messages are not there any longer. Their text was given; that it is taken back is told.
fn taken_back(by: &str, messages: &[String], scribe: &mut Scribe) {
    if messages.is_empty() {
        return;
    }
    let detail = serde_json::value::to_raw_value(&messages).ok();
    let text = format!("taken back: {} of the messages before", messages.len());
    scribe.notice(Notice { detail, ..Notice::new(Topic::Retracted).with_name(by).with_text(text) });
}

fn time(fields: &Object<'_>, key: &str) -> Option<Timestamp> {
    Timestamp::parse(&fields.str(key)?)
}
