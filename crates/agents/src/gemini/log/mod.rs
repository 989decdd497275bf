//! Session logs of Gemini CLI: `tmp/<project>/chats/*.jsonl`, where later records change earlier ones; older `*.json`,
//! whose messages are the records; and `logs.json`, whose elements are. Not the live streams.

mod calls;
mod files;
mod messages;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

pub use files::LOGS;
use switchboard_event::{
    Dir, EndReason, Id, Info, Item, Level, Notice, Origin, Timestamp, Topic, TurnCompleted, TurnStarted, Usage,
    UserMessage,
};

use crate::{JsonObject, JsonView, RecordReader, RunRecorder, SessionEnding};

/// Prefixes of such messages.
const INJECTED_PREFIXES: &[&str] = &[
    "<session_context>",
    "<state_snapshot>",
    "<hook_context>",
    "<loaded_context>",
    "<environment_context>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "System: ",
];

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

    fn read(&mut self, _: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        self.identify_session(recorder);
        let fields = record.as_object();
        if let Some(set) = fields.get("$set") {
            self.read_set(&set.as_object(), recorder);
        } else if let Some(id) = fields.get_str("$rewindTo") {
            self.rewind_to(&id, recorder);
        } else if let Some(patch) = fields.get("$patch") {
            self.read_patch(&patch.as_object(), recorder);
        } else if fields.contains_key("messageId") && fields.contains_key("message") {
            self.read_typed_prompt(&fields, recorder);
        } else if fields.contains_key("id") {
            self.read_message(&fields, recorder);
            self.retract_missing(recorder);
        } else if fields.contains_key("sessionId") {
            self.read_header(&fields, recorder);
        }
    }

    /// `logs.json` has the prompts of all sessions of a project.
    fn starts_other_session(&self, record: JsonView<'_>, recorder: &RunRecorder) -> bool {
        let fields = record.as_object();
        let typed = fields.get("messageId").and(fields.get_str("sessionId"));
        matches!((typed, recorder.agent_session()), (Some(session), Some(known)) if session != **known)
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        self.identify_session(recorder);
        self.retract_missing(recorder);
        if self.answered && recorder.in_turn() {
            recorder.turn_completed(TurnCompleted::default());
        }
        if !recorder.in_turn() {
            // A log has no end marker, and nothing is missing.
            recorder.session_ending(SessionEnding { reason: EndReason::Completed, error: None });
        }
    }
}

impl GeminiLogReader {
    fn identify_session(&mut self, recorder: &mut RunRecorder) {
        if let Some(session) = self.session.take() {
            recorder.set_agent_session(&session);
        }
    }

    /// Reads session metadata, which is repeated each time the session is resumed. In older files it is on one line
    /// with all messages, which are read too.
    fn read_header(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.set_record_time(parse_time(fields, "startTime"));
        if recorder.agent_session().is_none() {
            self.session = fields.get_non_empty("sessionId");
        }
        self.update_session_info(fields, recorder);
        self.replace_messages(fields, recorder);
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("resumed"));
    }

    /// Applies session metadata.
    fn update_session_info(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let cwd =
            fields.get_strings("directories").into_iter().next().filter(|_| recorder.working_directory().is_none());
        let is_first = recorder.agent_session().is_none() && self.order.is_empty();
        let title = fields.get_non_empty("summary");
        let project_hash = fields.get_non_empty("projectHash");
        if is_first || cwd.is_some() || title.is_some() || project_hash.is_some() {
            recorder.update_info(Info { cwd, title: title.clone(), project_hash, ..Info::default() });
        }
        if let Some(summary) = title {
            recorder.write_notice(Notice::new(Topic::Status).with_status("summary").with_text(summary));
        }
    }

    /// Reads changed metadata, sometimes with all messages.
    fn read_set(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.set_record_time(parse_time(fields, "lastUpdated"));
        if recorder.agent_session().is_none() {
            self.session = fields.get_non_empty("sessionId");
            self.identify_session(recorder);
        }
        self.update_session_info(fields, recorder);
        self.replace_messages(fields, recorder);
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("$set"));
    }

    /// Replaces all messages. Most are unchanged.
    fn replace_messages(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
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
                true => self.update_message(&message, recorder),
                false => self.read_message(&message, recorder),
            }
        }
        (self.order, self.present) = (ids, present);
        self.missing.extend(gone);
    }

    /// Retracts messages that are still missing when the conversation continues.
    fn retract_missing(&mut self, recorder: &mut RunRecorder) {
        let mut missing = std::mem::take(&mut self.missing);
        missing.retain(|id| !self.present.contains(id));
        report_retracted("$set", &missing, recorder);
    }

    /// Retracts a message and all after it, or all messages if it is unknown. Their usage still counts.
    fn rewind_to(&mut self, id: &str, recorder: &mut RunRecorder) {
        let at = self.order.iter().position(|known| known == id).unwrap_or(0);
        let gone = self.order.split_off(at);
        self.present.retain(|id| !gone.contains(id));
        report_retracted("$rewindTo", &gone, recorder);
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("$rewindTo"));
    }

    /// Applies partial changes of messages.
    fn read_patch(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.update_message(fields, recorder);
        for part in fields.get_array("updates").into_iter().map(JsonView::as_object) {
            let is_new =
                part.contains_key("type") && part.get_str("id").is_some_and(|id| !self.seen.contains_key(&*id));
            if is_new { self.read_message(&part, recorder) } else { self.update_message(&part, recorder) }
        }
        let removed = fields.get_strings("removeIds");
        self.order.retain(|id| !removed.contains(id));
        self.present.retain(|id| !removed.contains(id));
        report_retracted("$patch", &removed, recorder);
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_level(Level::Debug).with_name("$patch"));
    }

    /// Reads an element of `logs.json`: a prompt or a command that a person typed.
    fn read_typed_prompt(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.set_record_time(parse_time(fields, "timestamp"));
        recorder.set_agent_session(&fields.get_str("sessionId").unwrap_or_default());
        let text = fields.get_string("message").unwrap_or_default();
        let number = fields.get("messageId").map(|number| number.display_text().into_owned()).unwrap_or_default();
        self.answered = true;
        let turn = TurnStarted { origin: Origin::Command, prompt: Some(text.clone()), ..TurnStarted::default() };
        recorder.turn_started(turn);
        recorder.item_completed(&Id::from(number), Item::new(UserMessage::text(text)));
    }
}

/// Reports that messages were retracted, whose text was already passed on.
fn report_retracted(by: &str, messages: &[String], recorder: &mut RunRecorder) {
    if messages.is_empty() {
        return;
    }
    let detail = serde_json::value::to_raw_value(&messages).ok();
    let text = format!("taken back: {} of the messages before", messages.len());
    recorder.write_notice(Notice { detail, ..Notice::new(Topic::Retracted).with_name(by).with_text(text) });
}

fn parse_time(fields: &JsonObject<'_>, key: &str) -> Option<Timestamp> {
    Timestamp::parse(&fields.get_str(key)?)
}

pub fn is_injected_context(text: &str) -> bool {
    let text = text.trim_start();
    INJECTED_PREFIXES.iter().any(|beginning| text.starts_with(beginning))
}

/// Returns the session's working directory from the first message.
pub fn context_cwd(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        // Before 0.20 it was a sentence.
        if let Some(folder) = line.strip_prefix("I'm currently working in the directory:") {
            return absolute_path(folder);
        }
        let is_list = line.contains("Workspace Directories:")
            || line.starts_with("I'm currently working in the following directories:");
        if is_list {
            return absolute_path(lines.next()?.strip_prefix("- ")?);
        }
    }
    None
}

fn absolute_path(folder: &str) -> Option<String> {
    let folder = folder.trim();
    let is_absolute = folder.starts_with('/') || folder.get(1..3) == Some(":\\");
    Some(folder.to_owned()).filter(|_| is_absolute)
}

#[cfg(test)]
mod unit_tests {

    use super::context_cwd;

    #[test]
    fn the_folder_is_in_the_first_message() {
        let today = "<session_context>\n- **Workspace Directories:**\n  - /w/a\n  - /w/b\n- **Directory";
        assert_eq!(context_cwd(today).as_deref(), Some("/w/a"));
        let before = "This is the Gemini CLI.\n  I'm currently working in the directory: /w/a\n Here";
        assert_eq!(context_cwd(before).as_deref(), Some("/w/a"));
        let several = "I'm currently working in the following directories:\n    - /w/a\n    - /w/b";
        assert_eq!(context_cwd(several).as_deref(), Some("/w/a"));
        assert_eq!(context_cwd("- **Workspace Directories:**\n  nothing"), None);
    }
}
