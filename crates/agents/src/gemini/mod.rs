//! Gemini CLI: `gemini --acp`, which is two-way and read like any ACP agent, and
//! `gemini -p … --output-format stream-json`, for one prompt and one answer.

mod errors;
mod items;
mod launch;
mod log;
mod policy;
mod raw;
mod sessions;
mod settings;

#[cfg(test)]
mod launch_tests;

pub use launch::AGENT;
pub use log::LOGS;
use raw::RawReplies;
use switchboard_event::{
    AgentMessage, Denied, Details, Dir, ErrorCode, Fault, Field, Id, Info, Item, Level, Notice, Reasoning, Status,
    Stop, Timestamp, Topic, TurnCompleted, TurnStarted, TurnStatus, UserMessage,
};

use crate::{JsonObject, JsonView, RecordReader, RecordSource, RunRecorder, reader};

const MAX_DENIED_TOOLS: usize = 64;

/// Readable sources of Gemini CLI.
pub const SOURCES: &[RecordSource] = &[
    RecordSource {
        name: "gemini",
        agent: "gemini",
        title: "Gemini CLI, `gemini -p --output-format stream-json`",
        schema: Some(include_str!("schema.json")),
        reader: || Box::new(GeminiStreamReader::default()),
    },
    RecordSource {
        name: "gemini:acp",
        agent: "gemini",
        title: "Gemini CLI, `gemini --acp`, a transcript of both directions",
        schema: None,
        reader: crate::acp::reader_of_prefixed_ids,
    },
    RecordSource {
        name: "gemini:log",
        agent: "gemini",
        title: "Gemini CLI, the session logs in `~/.gemini/tmp`",
        schema: None,
        reader: log::reader,
    },
];

/// Reads the one-way stream.
#[derive(Default)]
pub struct GeminiStreamReader {
    /// The message or reasoning item in progress; a tool call ends it.
    speech: Option<Id>,
    made_up: u32,
    /// The last error that did not end the run: a `result` may fail without a reason.
    warned: Option<Fault>,
    /// A failure was reported; a following `result` is about the same failure.
    failed: bool,
    denied: Vec<Denied>,
    pub(super) replies: RawReplies,
    /// Numbers the replies of the stream, which does not name them.
    pub(super) numbered: reader::ReplyIdSequence,
}

impl RecordReader for GeminiStreamReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        recorder.set_record_time(fields.get_str("timestamp").and_then(|t| Timestamp::parse(&t)));
        match fields.get_str("type").as_deref() {
            Some("init") => read_init(&fields, recorder),
            Some("message") => self.read_message(&fields, recorder),
            Some("content") => self.append_answer(&fields.get_str("value").unwrap_or_default(), recorder),
            Some("tool_use") => self.start_tool(&fields, recorder),
            Some("tool_call") => self.read_tool_call(&fields, recorder),
            Some("tool_result") => self.read_tool_result(&fields, recorder),
            Some("error") => self.read_error(&fields, recorder),
            Some("retry") => recorder.write_notice(retry_notice(&fields)),
            Some("result") => self.read_result(&fields, recorder),
            _ => self.read_untyped(&fields, recorder),
        }
    }

    /// Raw replies have no `result`: the last finish reason ends the turn.
    fn finish(&mut self, recorder: &mut RunRecorder) {
        self.replies.flush_usage(recorder);
        match self.replies.final_outcome().filter(|_| recorder.in_turn()) {
            Some(Ok(())) => self.complete_turn(None, recorder),
            Some(Err(fault)) => self.fail_turn(fault, None, recorder),
            None => {}
        }
    }
}

fn read_init(fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
    recorder.set_agent_session(&fields.get_str("session_id").unwrap_or_default());
    recorder.update_info(Info { model: fields.get_non_empty("model"), ..Info::default() });
}

fn retry_notice(fields: &JsonObject<'_>) -> Notice {
    let fault = fields.get("error").map(|error| errors::parse_fault(&error.as_object()));
    let text = fields.get_non_empty("message").or_else(|| fault.as_ref().map(|fault| fault.message.clone()));
    Notice { text, error: fault, ..Notice::new(Topic::Retry).with_level(Level::Warning) }
}

impl GeminiStreamReader {
    fn read_message(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let content = fields.get_str("content").unwrap_or_default();
        if fields.str_equals("role", "user") {
            self.numbered.end_reply();
            recorder.turn_started(TurnStarted { prompt: Some(content.to_string()), ..TurnStarted::default() });
            let id = self.next_id("message", recorder);
            recorder.item_completed(&id, Item::new(UserMessage::text(content)));
        } else if fields.is_true("delta") {
            self.append_answer(&content, recorder);
        } else {
            self.read_whole_message(&content, recorder);
        }
    }

    /// Returns an id for an item that has none.
    pub(super) fn next_id(&mut self, what: &str, recorder: &RunRecorder) -> Id {
        self.made_up = self.made_up.saturating_add(1);
        recorder.local_id(&format!("{what}_{}", self.made_up))
    }

    pub(super) fn append_answer(&mut self, text: &str, recorder: &mut RunRecorder) {
        self.append_speech(Item::new(AgentMessage::default()), text, recorder);
    }

    pub(super) fn append_thought(&mut self, text: &str, recorder: &mut RunRecorder) {
        self.append_speech(Item::new(Reasoning::default()), text, recorder);
    }

    fn append_speech(&mut self, item: Item, text: &str, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        let going_on =
            |id: &Id| recorder.open_item(id).is_some_and(|open| open.details.type_tag() == item.details.type_tag());
        let id = match self.speech.clone().filter(going_on) {
            Some(id) => id,
            None => {
                self.end_speech(recorder);
                let id = self.next_id("message", recorder);
                recorder.item_started(&id, Item { reply: Some(self.numbered.id_for_output(recorder)), ..item });
                self.speech.insert(id).clone()
            }
        };
        recorder.item_append(&id, Field::Text, 0, text);
    }

    /// Reads a whole message, which may repeat its deltas. Gemini CLI 0.61.0 sends none.
    fn read_whole_message(&mut self, text: &str, recorder: &mut RunRecorder) {
        let open = self.speech.as_deref().and_then(|id| recorder.open_item(id));
        let known = match open.map(|item| &item.details) {
            Some(Details::AgentMessage(message)) => message.text.clone(),
            _ => String::new(),
        };
        match text.strip_prefix(known.as_str()) {
            Some("") => {}
            Some(rest) => self.append_answer(rest, recorder),
            None => {
                self.end_speech(recorder);
                self.append_answer(text, recorder);
            }
        }
        self.end_speech(recorder);
    }

    /// Closes the message or reasoning item in progress.
    pub(super) fn end_speech(&mut self, recorder: &mut RunRecorder) {
        if let Some(id) = self.speech.take() {
            recorder.item_closed(&id, Status::Completed);
        }
    }

    fn start_tool(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        self.end_speech(recorder);
        let name = fields.get_str("tool_name").unwrap_or_default();
        let reply = Some(self.numbered.id_for_output(recorder));
        let item = Item { reply, ..items::parse_tool_item(&name, fields.get("parameters"), recorder) };
        let id = fields.get_non_empty("tool_id").map_or_else(|| self.next_id("tool", recorder), Id::from);
        recorder.item_started(&id, item);
    }

    /// Reads the older format: one record for the whole call, without a result.
    fn read_tool_call(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        self.end_speech(recorder);
        let name = fields.get_str("name").unwrap_or_default();
        let item = items::parse_tool_item(&name, fields.get("args"), recorder);
        let id = self.next_id("tool", recorder);
        recorder.item_completed(&id, item);
    }

    pub(super) fn record_denied(&mut self, denied: Denied) {
        if self.denied.len() < MAX_DENIED_TOOLS {
            self.denied.push(denied);
        }
    }

    /// Reads an error. `{severity,message}` is a warning; with an `error` object, as in older documentation, it ends
    /// the run.
    fn read_error(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if fields.contains_key("error") {
            self.replies.flush_usage(recorder);
            return self.fail_turn(errors::parse_fault(&fields.get_object("error")), None, recorder);
        }
        let fault = errors::parse_warning(fields);
        let level = if fields.str_equals("severity", "warning") { Level::Warning } else { Level::Error };
        let notice = Notice::new(Topic::Warning).with_level(level).with_text(fault.message.clone());
        recorder.write_notice(Notice { error: Some(fault.clone()), ..notice });
        self.warned = Some(fault);
    }

    fn read_result(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if self.failed && !recorder.in_turn() {
            raw::count_stats(&fields.get_object("stats"), recorder);
            return recorder.write_notice_if_no_event(Notice::new(Topic::Late).with_name("result"));
        }
        recorder.ensure_turn();
        self.end_speech(recorder);
        let stats = fields.get_object("stats");
        if stats.is_empty() {
            self.replies.flush_usage(recorder);
        }
        raw::count_stats(&stats, recorder);
        // A failed run always reports 0 (Gemini CLI 0.61.0).
        let duration_ms = stats.get_u64("duration_ms").filter(|ms| *ms > 0);
        match fields.get_str("status").as_deref() {
            Some("error") => {
                let said = fields.get("error").map(|error| errors::parse_fault(&error.as_object()));
                let fault = said.or(self.warned.take()).unwrap_or_else(|| errors::parse_fault(&JsonObject::default()));
                self.fail_turn(fault, duration_ms, recorder);
            }
            Some("cancelled") => self.fail_turn(Fault::new(ErrorCode::Aborted, "cancelled"), duration_ms, recorder),
            _ => self.complete_turn(duration_ms, recorder),
        }
    }

    /// Completes the turn successfully. Reaching the turn limit does so too, with only a warning before it.
    fn complete_turn(&mut self, duration_ms: Option<u64>, recorder: &mut RunRecorder) {
        self.end_speech(recorder);
        let limited = self.warned.take().is_some_and(|fault| fault.code == ErrorCode::MaxTurns);
        let stop = match (limited, self.replies.is_truncated()) {
            (true, _) => Stop::MaxTurns,
            (_, true) => Stop::MaxTokens,
            _ => Stop::EndTurn,
        };
        (self.failed, self.replies) = (false, RawReplies::default());
        let denied = std::mem::take(&mut self.denied);
        recorder.turn_completed(TurnCompleted { stop, duration_ms, denied, ..TurnCompleted::default() });
    }

    pub(super) fn fail_turn(&mut self, fault: Fault, duration_ms: Option<u64>, recorder: &mut RunRecorder) {
        let (status, stop) = match fault.code {
            ErrorCode::Aborted => (TurnStatus::Interrupted, Stop::Cancelled),
            ErrorCode::MaxTurns => (TurnStatus::Failed, Stop::MaxTurns),
            ErrorCode::OutputLength => (TurnStatus::Failed, Stop::MaxTokens),
            ErrorCode::Refused => (TurnStatus::Failed, Stop::Refusal),
            _ => (TurnStatus::Failed, Stop::Error),
        };
        self.end_speech(recorder);
        (self.failed, self.warned, self.replies) = (true, None, RawReplies::default());
        let denied = std::mem::take(&mut self.denied);
        let error = Some(fault);
        recorder.turn_completed(TurnCompleted { status, stop, error, duration_ms, denied, ..TurnCompleted::default() });
    }
}
