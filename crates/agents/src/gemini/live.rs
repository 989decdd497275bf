//! What `gemini -p --output-format stream-json` prints, and the shapes that older descriptions of it have
//! (`content`, `tool_call`, `retry`). Records without a type are read elsewhere.

use switchboard_event::{
    AgentMessage, Denied, Details, Dir, ErrorCode, Fault, Field, Id, Info, Item, Level, Notice, Reasoning, Status,
    Stop, Timestamp, Topic, TurnCompleted, TurnStarted, TurnStatus, UserMessage,
};

use super::{errors, items, raw::Replies, usage};
use crate::{Json, Object, Reader, Scribe, replies};

/// How many refused tools of a turn are kept.
const REFUSALS: usize = 64;

/// Reads the one-way stream.
#[derive(Default)]
pub struct Live {
    /// What is being said or thought; a tool ends it.
    speech: Option<Id>,
    made_up: u32,
    /// The last error that did not end the run: a `result` may fail without saying why.
    warned: Option<Fault>,
    /// The run failed and said so; a `result` after that is about the same.
    failed: bool,
    denied: Vec<Denied>,
    pub(super) replies: Replies,
    /// The replies in the stream proper, which has no names for them.
    pub(super) numbered: replies::Replies,
}

impl Reader for Live {
    fn tells_time(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        scribe.happened(fields.str("timestamp").and_then(|t| Timestamp::parse(&t)));
        match fields.str("type").as_deref() {
            Some("init") => init(&fields, scribe),
            Some("message") => self.message(&fields, scribe),
            Some("content") => self.say(&fields.str("value").unwrap_or_default(), scribe),
            Some("tool_use") => self.tool_use(&fields, scribe),
            Some("tool_call") => self.tool_call(&fields, scribe),
            Some("tool_result") => self.tool_result(&fields, scribe),
            Some("error") => self.error(&fields, scribe),
            Some("retry") => scribe.notice(retry(&fields)),
            Some("result") => self.result(&fields, scribe),
            _ => self.untyped(&fields, scribe),
        }
    }

    /// Raw replies have no `result`: the last one's reason is the end.
    fn end(&mut self, scribe: &mut Scribe) {
        self.replies.settle(scribe);
        match self.replies.outcome().filter(|_| scribe.in_turn()) {
            Some(Ok(())) => self.finish(None, scribe),
            Some(Err(fault)) => self.fail(fault, None, scribe),
            None => {}
        }
    }
}

fn init(fields: &Object<'_>, scribe: &mut Scribe) {
    scribe.identify(&fields.str("session_id").unwrap_or_default());
    scribe.info(Info { model: fields.filled("model"), ..Info::default() });
}

fn retry(fields: &Object<'_>) -> Notice {
    let fault = fields.get("error").map(|error| errors::fault(&error.object()));
    let text = fields.filled("message").or_else(|| fault.as_ref().map(|fault| fault.message.clone()));
    Notice { text, error: fault, ..Notice::new(Topic::Retry).with_level(Level::Warning) }
}

impl Live {
    fn message(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let content = fields.str("content").unwrap_or_default();
        if fields.is("role", "user") {
            self.numbered.over();
            scribe.turn_started(TurnStarted { prompt: Some(content.to_string()), ..TurnStarted::default() });
            let id = self.next_id("message", scribe);
            scribe.item_completed(&id, Item::new(UserMessage::text(content)));
        } else if fields.is_true("delta") {
            self.say(&content, scribe);
        } else {
            self.say_all(&content, scribe);
        }
    }

    /// An id for something that Gemini gives none.
    pub(super) fn next_id(&mut self, what: &str, scribe: &Scribe) -> Id {
        self.made_up = self.made_up.saturating_add(1);
        scribe.local_id(&format!("{what}_{}", self.made_up))
    }

    /// More of the answer.
    pub(super) fn say(&mut self, text: &str, scribe: &mut Scribe) {
        self.speak(Item::new(AgentMessage::default()), text, scribe);
    }

    /// More of the thoughts.
    pub(super) fn think(&mut self, text: &str, scribe: &mut Scribe) {
        self.speak(Item::new(Reasoning::default()), text, scribe);
    }

    fn speak(&mut self, item: Item, text: &str, scribe: &mut Scribe) {
        scribe.ensure_turn();
        let going_on = |id: &Id| scribe.item(id).is_some_and(|open| open.details.tag() == item.details.tag());
        let id = match self.speech.clone().filter(going_on) {
            Some(id) => id,
            None => {
                self.end_speech(scribe);
                let id = self.next_id("message", scribe);
                scribe.item_started(&id, Item { reply: Some(self.numbered.next(scribe)), ..item });
                self.speech.insert(id).clone()
            }
        };
        scribe.item_append(&id, Field::Text, 0, text);
    }

    /// A whole message, which may repeat what its pieces said. Gemini CLI 0.61.0 sends none.
    fn say_all(&mut self, text: &str, scribe: &mut Scribe) {
        let open = self.speech.as_deref().and_then(|id| scribe.item(id));
        let known = match open.map(|item| &item.details) {
            Some(Details::AgentMessage(message)) => message.text.clone(),
            _ => String::new(),
        };
        match text.strip_prefix(known.as_str()) {
            Some("") => {}
            Some(rest) => self.say(rest, scribe),
            None => {
                self.end_speech(scribe);
                self.say(text, scribe);
            }
        }
        self.end_speech(scribe);
    }

    /// What was being said is said.
    pub(super) fn end_speech(&mut self, scribe: &mut Scribe) {
        if let Some(id) = self.speech.take() {
            scribe.item_closed(&id, Status::Completed);
        }
    }

    fn tool_use(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        self.end_speech(scribe);
        let name = fields.str("tool_name").unwrap_or_default();
        let reply = Some(self.numbered.next(scribe));
        let item = Item { reply, ..items::item(&name, fields.get("parameters"), scribe) };
        let id = fields.filled("tool_id").map_or_else(|| self.next_id("tool", scribe), Id::from);
        scribe.item_started(&id, item);
    }

    /// The older shape: one record for the whole call, without a result.
    fn tool_call(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        self.end_speech(scribe);
        let name = fields.str("name").unwrap_or_default();
        let item = items::item(&name, fields.get("args"), scribe);
        let id = self.next_id("tool", scribe);
        scribe.item_completed(&id, item);
    }

    /// A tool was not allowed.
    pub(super) fn deny(&mut self, denied: Denied) {
        if self.denied.len() < REFUSALS {
            self.denied.push(denied);
        }
    }

    /// `{severity,message}` is a warning; with an `error` object, as older descriptions have it, it ends the run.
    fn error(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        if fields.has("error") {
            self.replies.settle(scribe);
            return self.fail(errors::fault(&fields.object("error")), None, scribe);
        }
        let fault = errors::warning(fields);
        let level = if fields.is("severity", "warning") { Level::Warning } else { Level::Error };
        let notice = Notice::new(Topic::Warning).with_level(level).with_text(fault.message.clone());
        scribe.notice(Notice { error: Some(fault.clone()), ..notice });
        self.warned = Some(fault);
    }

    fn result(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        if self.failed && !scribe.in_turn() {
            usage::count(&fields.object("stats"), scribe);
            return scribe.otherwise(Notice::new(Topic::Late).with_name("result"));
        }
        scribe.ensure_turn();
        self.end_speech(scribe);
        let stats = fields.object("stats");
        if stats.is_empty() {
            self.replies.settle(scribe);
        }
        usage::count(&stats, scribe);
        // A run that failed always says 0 (Gemini CLI 0.61.0).
        let duration_ms = stats.u64("duration_ms").filter(|ms| *ms > 0);
        match fields.str("status").as_deref() {
            Some("error") => {
                let said = fields.get("error").map(|error| errors::fault(&error.object()));
                let fault = said.or(self.warned.take()).unwrap_or_else(|| errors::fault(&Object::default()));
                self.fail(fault, duration_ms, scribe);
            }
            Some("cancelled") => self.fail(Fault::new(ErrorCode::Aborted, "cancelled"), duration_ms, scribe),
            _ => self.finish(duration_ms, scribe),
        }
    }

    /// The turn ended well. The turn limit ends it too, and is only warned of.
    fn finish(&mut self, duration_ms: Option<u64>, scribe: &mut Scribe) {
        self.end_speech(scribe);
        let limited = self.warned.take().is_some_and(|fault| fault.code == ErrorCode::MaxTurns);
        let stop = match (limited, self.replies.is_cut()) {
            (true, _) => Stop::MaxTurns,
            (_, true) => Stop::MaxTokens,
            _ => Stop::EndTurn,
        };
        (self.failed, self.replies) = (false, Replies::default());
        let denied = std::mem::take(&mut self.denied);
        scribe.turn_completed(TurnCompleted { stop, duration_ms, denied, ..TurnCompleted::default() });
    }

    /// The turn ended badly.
    pub(super) fn fail(&mut self, fault: Fault, duration_ms: Option<u64>, scribe: &mut Scribe) {
        let (status, stop) = match fault.code {
            ErrorCode::Aborted => (TurnStatus::Interrupted, Stop::Cancelled),
            ErrorCode::MaxTurns => (TurnStatus::Failed, Stop::MaxTurns),
            ErrorCode::OutputLength => (TurnStatus::Failed, Stop::MaxTokens),
            ErrorCode::Refused => (TurnStatus::Failed, Stop::Refusal),
            _ => (TurnStatus::Failed, Stop::Error),
        };
        self.end_speech(scribe);
        (self.failed, self.warned, self.replies) = (true, None, Replies::default());
        let denied = std::mem::take(&mut self.denied);
        let error = Some(fault);
        scribe.turn_completed(TurnCompleted { status, stop, error, duration_ms, denied, ..TurnCompleted::default() });
    }
}
