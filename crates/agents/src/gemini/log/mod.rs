//! Session logs of Gemini CLI: `tmp/<project>/chats/*.jsonl`, where later records change earlier ones; older `*.json`,
//! whose messages are the records; and `logs.json`, whose elements are. Not the live streams.

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

use crate::{JsonObject, JsonView, RecordReader, RunRecorder, SessionEnding};

/// Reads a log, record by record.
#[derive(Default)]
pub struct GeminiLogReader {
    /// The session's id, held back until the next record has been read: the session starts with both its id and its
    /// directory.
    session: Option<String>,
    /// The current messages, in order.
    order: Vec<String>,
    present: HashSet<String>,
    /// All messages that have occurred.
    seen: HashMap<String, LoggedMessage>,
    /// Messages that a replacement list omitted. When a session is resumed, another list soon restores them.
    missing: Vec<String>,
    /// Known tool calls.
    calls: HashSet<Id>,
    /// The last item is an answer, so the turn may be over.
    answered: bool,
}

/// State of a message.
#[derive(Default)]
struct LoggedMessage {
    text: String,
    thoughts: usize,
    usage: Option<Usage>,
    versions: u32,
}

pub fn reader() -> Box<dyn RecordReader> {
    Box::new(GeminiLogReader::default())
}

impl RecordReader for GeminiLogReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: JsonView<'_>, scribe: &mut RunRecorder) {
        self.identify_session(scribe);
        let fields = record.as_object();
        if let Some(set) = fields.get("$set") {
            self.read_set(&set.as_object(), scribe);
        } else if let Some(id) = fields.get_str("$rewindTo") {
            self.rewind_to(&id, scribe);
        } else if let Some(patch) = fields.get("$patch") {
            self.read_patch(&patch.as_object(), scribe);
        } else if fields.contains_key("messageId") && fields.contains_key("message") {
            self.read_typed_prompt(&fields, scribe);
        } else if fields.contains_key("id") {
            self.read_message(&fields, scribe);
            self.retract_missing(scribe);
        } else if fields.contains_key("sessionId") {
            self.read_header(&fields, scribe);
        }
    }

    /// `logs.json` has the prompts of all sessions of a project.
    fn starts_other_session(&self, record: JsonView<'_>, scribe: &RunRecorder) -> bool {
        let fields = record.as_object();
        let typed = fields.get("messageId").and(fields.get_str("sessionId"));
        matches!((typed, scribe.agent_session()), (Some(session), Some(known)) if session != **known)
    }

    fn finish(&mut self, scribe: &mut RunRecorder) {
        self.identify_session(scribe);
        self.retract_missing(scribe);
        if self.answered && scribe.in_turn() {
            scribe.turn_completed(TurnCompleted::default());
        }
        if !scribe.in_turn() {
            // A log has no end marker, and nothing is missing.
            scribe.session_ending(SessionEnding { reason: EndReason::Completed, error: None });
        }
    }
}

impl GeminiLogReader {
    fn identify_session(&mut self, scribe: &mut RunRecorder) {
        if let Some(session) = self.session.take() {
            scribe.set_agent_session(&session);
        }
    }

    /// Reads session metadata, which is repeated each time the session is resumed. In older files it is on one line
    /// with all messages, which are read too.
    fn read_header(&mut self, fields: &JsonObject<'_>, scribe: &mut RunRecorder) {
        scribe.set_record_time(parse_time(fields, "startTime"));
        if scribe.agent_session().is_none() {
            self.session = fields.get_non_empty("sessionId");
        }
        self.update_session_info(fields, scribe);
        self.replace_messages(fields, scribe);
        scribe.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("resumed"));
    }

    /// Applies session metadata.
    fn update_session_info(&mut self, fields: &JsonObject<'_>, scribe: &mut RunRecorder) {
        let cwd = fields.get_strings("directories").into_iter().next().filter(|_| scribe.working_directory().is_none());
        let is_first = scribe.agent_session().is_none() && self.order.is_empty();
        let title = fields.get_non_empty("summary");
        let project_hash = fields.get_non_empty("projectHash");
        if is_first || cwd.is_some() || title.is_some() || project_hash.is_some() {
            scribe.update_info(Info { cwd, title: title.clone(), project_hash, ..Info::default() });
        }
        if let Some(summary) = title {
            scribe.write_notice(Notice::new(Topic::Status).with_status("summary").with_text(summary));
        }
    }

    /// Reads changed metadata, sometimes with all messages.
    fn read_set(&mut self, fields: &JsonObject<'_>, scribe: &mut RunRecorder) {
        scribe.set_record_time(parse_time(fields, "lastUpdated"));
        if scribe.agent_session().is_none() {
            self.session = fields.get_non_empty("sessionId");
            self.identify_session(scribe);
        }
        self.update_session_info(fields, scribe);
        self.replace_messages(fields, scribe);
        scribe.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("$set"));
    }

    /// Replaces all messages. Most are unchanged.
    fn replace_messages(&mut self, fields: &JsonObject<'_>, scribe: &mut RunRecorder) {
        if fields.get("messages").is_none_or(|messages| !messages.raw_text().starts_with('[')) {
            return;
        }
        let messages = fields.get_array("messages");
        let ids: Vec<String> = messages.iter().filter_map(|message| message.as_object().get_non_empty("id")).collect();
        let present = HashSet::from_iter(ids.iter().cloned());
        let gone: Vec<_> = self.order.iter().filter(|id| !present.contains(*id)).cloned().collect();
        for message in messages {
            let message = message.as_object();
            let known = message.get_str("id").is_some_and(|id| self.seen.contains_key(&*id));
            match known {
                // Repeated messages can be incomplete and have another time.
                true => self.update_message(&message, scribe),
                false => self.read_message(&message, scribe),
            }
        }
        (self.order, self.present) = (ids, present);
        self.missing.extend(gone);
    }

    /// Retracts messages that are still missing when the conversation continues.
    fn retract_missing(&mut self, scribe: &mut RunRecorder) {
        let mut missing = std::mem::take(&mut self.missing);
        missing.retain(|id| !self.present.contains(id));
        report_retracted("$set", &missing, scribe);
    }

    /// Retracts a message and all after it, or all messages if it is unknown. Their usage still counts.
    fn rewind_to(&mut self, id: &str, scribe: &mut RunRecorder) {
        let at = self.order.iter().position(|known| known == id).unwrap_or(0);
        let gone = self.order.split_off(at);
        self.present.retain(|id| !gone.contains(id));
        report_retracted("$rewindTo", &gone, scribe);
        scribe.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("$rewindTo"));
    }

    /// Applies partial changes of messages.
    fn read_patch(&mut self, fields: &JsonObject<'_>, scribe: &mut RunRecorder) {
        self.update_message(fields, scribe);
        for part in fields.get_array("updates").into_iter().map(JsonView::as_object) {
            let is_new =
                part.contains_key("type") && part.get_str("id").is_some_and(|id| !self.seen.contains_key(&*id));
            if is_new { self.read_message(&part, scribe) } else { self.update_message(&part, scribe) }
        }
        let removed = fields.get_strings("removeIds");
        self.order.retain(|id| !removed.contains(id));
        self.present.retain(|id| !removed.contains(id));
        report_retracted("$patch", &removed, scribe);
        scribe.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("$patch"));
    }

    /// Reads an element of `logs.json`: a prompt or a command that a person typed.
    fn read_typed_prompt(&mut self, fields: &JsonObject<'_>, scribe: &mut RunRecorder) {
        scribe.set_record_time(parse_time(fields, "timestamp"));
        scribe.set_agent_session(&fields.get_str("sessionId").unwrap_or_default());
        let text = fields.get_string("message").unwrap_or_default();
        let number = fields.get("messageId").map(|number| number.display_text().into_owned()).unwrap_or_default();
        self.answered = true;
        let turn = TurnStarted { origin: Origin::Command, prompt: Some(text.clone()), ..TurnStarted::default() };
        scribe.turn_started(turn);
        scribe.item_completed(&Id::from(number), Item::new(UserMessage::text(text)));
    }
}

/// Reports that messages were retracted, whose text was already passed on.
fn report_retracted(by: &str, messages: &[String], scribe: &mut RunRecorder) {
    if messages.is_empty() {
        return;
    }
    let detail = serde_json::value::to_raw_value(&messages).ok();
    let text = format!("taken back: {} of the messages before", messages.len());
    scribe.write_notice(Notice { detail, ..Notice::new(Topic::Retracted).with_name(by).with_text(text) });
}

fn parse_time(fields: &JsonObject<'_>, key: &str) -> Option<Timestamp> {
    Timestamp::parse(&fields.get_str(key)?)
}
