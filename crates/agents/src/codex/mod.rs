//! Codex: `codex exec --json`, `codex app-server`, the formats of older documentation of both, and the rollouts on
//! disk.

mod app_server;
mod driver;
mod errors;
mod flat;
mod items;
mod launch;
mod log;
mod offers;
mod responses_api;
mod tool_calls;
mod usage;

use std::borrow::Cow;

use flat::FlatItems;
pub use launch::{AGENT, endpoints, state_directory};
pub use log::LOGS;
use responses_api::ResponsesApiReader;
use switchboard_event::{
    Dir, EndReason, ErrorCode, Fault, Info, Level, Notice, Scope, Status, Topic, TurnCompleted, TurnStarted,
};

use crate::{EngineNote, JsonObject, JsonView, RecordReader, RecordSource, RunRecorder, SessionEnding};

/// Readable sources of Codex.
pub const SOURCES: &[RecordSource] = &[
    RecordSource {
        name: "codex",
        agent: "codex",
        title: "Codex, `codex exec --json`",
        schema: Some(include_str!("schema.json")),
        reader: || Box::new(CodexExecReader::default()),
    },
    RecordSource {
        name: "codex:app-server",
        agent: "codex",
        title: "Codex, a transcript of `codex app-server`, both directions",
        schema: None,
        reader: || Box::new(app_server::AppServerReader::default()),
    },
    RecordSource {
        name: "codex:log",
        agent: "codex",
        title: "Codex, a rollout from `sessions`",
        schema: None,
        reader: || Box::new(log::RolloutReader::default()),
    },
];

/// Reads the one-way stream.
#[derive(Default)]
struct CodexExecReader {
    thread: Option<String>,
    totals: Option<usage::ThreadUsageTotals>,
    prompted: bool,
    /// The last error, until later records show that the work continued.
    error: Option<Fault>,
    /// Switchboard is stopping the process, so its last messages are no failure.
    stopping: bool,
    flat: FlatItems,
    responses: ResponsesApiReader,
}

impl RecordReader for CodexExecReader {
    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        match fields.get_str("type").as_deref() {
            Some("thread.started") => self.start_thread(&fields, recorder),
            Some("turn.started") => self.start_turn(recorder),
            Some("turn.completed") => self.complete_turn(&fields, recorder),
            Some("turn.failed") => self.fail_turn(&fields, recorder),
            Some("error") => self.report_error(&fields.get_str("message").unwrap_or_default(), recorder),
            Some(stage @ ("item.started" | "item.updated" | "item.completed")) => {
                self.read_item(stage, record, &fields, recorder);
            }
            _ => self.responses.read(dir, record, recorder),
        }
    }

    fn handle_note(&mut self, note: &EngineNote<'_>, _: &mut RunRecorder) {
        match note {
            EngineNote::Stopping(_) => self.stopping = true,
            // Without a thread there is no stream, and only standard error has the reason.
            EngineNote::Stderr(line) if self.thread.is_none() => {
                let said = line.strip_prefix("Error: ").map(errors::from_message);
                self.error = said.or(self.error.take());
            }
            _ => {}
        }
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        if self.stopping {
            return;
        }
        match self.error.take() {
            Some(fault) if recorder.in_turn() => recorder.turn_completed(errors::failed_turn(fault, None)),
            Some(fault) if !self.prompted => {
                recorder.session_ending(SessionEnding { reason: EndReason::Failed, error: Some(fault) });
            }
            _ => self.responses.end(recorder),
        }
    }
}

impl CodexExecReader {
    fn start_thread(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let thread = fields.get_string("thread_id").unwrap_or_default();
        recorder.set_agent_session(&thread);
        recorder.update_info(Info::default());
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name("thread.started"));
        if self.thread.as_ref().is_some_and(|known| *known != thread) {
            self.totals = Some(usage::ThreadUsageTotals::for_new_thread());
        }
        self.thread = Some(thread);
    }

    fn start_turn(&mut self, recorder: &mut RunRecorder) {
        let prompt = if self.prompted { None } else { recorder.session_context().prompt.clone() };
        self.end_turn();
        recorder.turn_started(TurnStarted { prompt, ..TurnStarted::default() });
    }

    fn complete_turn(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.end_turn();
        recorder.ensure_turn();
        if let Some(figures) = fields.get("usage") {
            let total = usage::parse_usage(&figures.as_object(), Scope::Turn, recorder.current_model());
            let totals = self.totals.get_or_insert_with(|| match &recorder.session_context().resumed {
                None => usage::ThreadUsageTotals::for_new_thread(),
                Some(_) => usage::ThreadUsageTotals::for_older_thread(recorder.session_context().usage_base.clone()),
            });
            recorder.record_usage(totals.add_total(total));
        }
        recorder.turn_completed(TurnCompleted::default());
    }

    fn fail_turn(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.end_turn();
        recorder.ensure_turn();
        let said = fields.get_object("error").get_non_empty("message").or_else(|| fields.get_non_empty("error"));
        let fault = errors::from_message(&said.unwrap_or_else(|| "the turn failed".to_owned()));
        recorder.turn_completed(errors::failed_turn(fault, None));
    }

    /// Reports an error that does not end the turn: the model call may be retried, and a failed turn is reported
    /// separately.
    fn report_error(&mut self, message: &str, recorder: &mut RunRecorder) {
        let mut fault = errors::from_message(message);
        let retry = errors::is_retry(message);
        let (topic, level) = if retry { (Topic::Retry, Level::Warning) } else { (Topic::Warning, Level::Error) };
        if retry {
            fault.retryable = Some(true);
        } else {
            self.error = Some(fault.clone());
        }
        let notice = Notice::new(topic).with_level(level).with_text(message).with_name("error");
        recorder.write_notice(Notice { error: Some(fault), ..notice });
    }

    fn note_progress(&mut self) {
        (self.prompted, self.error) = (true, None);
        self.responses.mark_not_bare();
    }

    fn end_turn(&mut self) {
        self.note_progress();
        self.flat.clear();
    }

    fn read_item(&mut self, stage: &str, record: JsonView<'_>, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(native) = fields.get("item").filter(|item| item.is_object()) else {
            if fields.contains_key("item_type") {
                self.note_progress();
            }
            return self.flat.read_record(stage, record, recorder);
        };
        let item = native.as_object();
        let kind = item.get_str("type").unwrap_or_default();
        if kind == "error" {
            return report_warning(&item.get_str("message").unwrap_or_default(), recorder);
        }
        self.note_progress();
        recorder.ensure_turn();
        // A web search has two fields `id`; the first is the item's.
        let id = recorder.local_id(&item.get_str("id").unwrap_or_else(|| kind.clone()));
        let news = items::parse_item(&kind, native, recorder.open_item(&id), recorder);
        match stage {
            "item.started" => recorder.item_started(&id, news),
            "item.updated" if recorder.item_is_open(&id) => recorder.item_set(&id, news),
            "item.updated" => recorder.item_started(&id, news),
            _ => {
                let status = if news.status == Status::Running { Status::Completed } else { news.status };
                recorder.item_completed(&id, news.with_status(status));
            }
        }
    }
}

/// An item of type `error` is a warning: about the configuration, an unknown model or a rerouted model.
pub fn report_warning(message: &str, recorder: &mut RunRecorder) {
    if let Some((_, model)) = message.strip_prefix("model rerouted: ").and_then(|models| models.split_once(" -> ")) {
        recorder.write_notice(Notice::new(Topic::ModelChanged).with_text(message).with_name(model));
        return recorder.update_info(Info { model: Some(model.to_owned()), ..Info::default() });
    }
    let notice = Notice::new(Topic::Warning).with_level(Level::Warning).with_text(message).with_name("error");
    recorder.write_notice(Notice { error: Some(Fault::new(ErrorCode::Unknown, message)), ..notice });
}

/// Returns the first of these fields that is present.
pub fn first_field<'a>(fields: &JsonObject<'a>, names: &[&str]) -> Option<JsonView<'a>> {
    names.iter().find_map(|name| fields.get(name))
}

/// Returns the string in the first of these fields that is present.
pub fn first_str<'a>(fields: &JsonObject<'a>, names: &[&str]) -> Option<Cow<'a, str>> {
    first_field(fields, names)?.as_str()
}

pub fn first_string(fields: &JsonObject<'_>, names: &[&str]) -> Option<String> {
    first_str(fields, names).map(Cow::into_owned)
}

/// Joins the strings of an array with newlines; `None` if there are none.
pub fn join_lines(array: &[JsonView<'_>]) -> Option<String> {
    let texts: Vec<_> = array.iter().filter_map(|text| text.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {

    use switchboard_event::{EndReason, Event, EventBody, Id, Usage};

    use crate::{EngineNote, Record, RecordTranslator, SessionContext, TranslatorOptions, find_source};

    const TURN_STARTED_LINES: &str = r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}"#;

    const TURN_COMPLETED_LINE: &str = r#"{"type":"turn.completed","usage":{"input_tokens":300,"output_tokens":60}}"#;

    fn translate_lines(start: SessionContext, lines: &str, notes: &[EngineNote<'_>]) -> Vec<Event> {
        let mut translator = RecordTranslator::new(
            find_source("codex").unwrap(),
            TranslatorOptions { start, run: 2, ..TranslatorOptions::default() },
        );
        let mut out = Vec::new();
        for line in lines.lines() {
            translator.translate_record(&Record::from_line(line.as_bytes()).unwrap(), &mut out);
        }
        notes.iter().for_each(|note| translator.apply_note(note, None, &mut out));
        translator.finish(&mut out);
        out
    }

    fn check_usage(resumed: bool, base: Option<u64>, input: u64, cumulative: bool) {
        let usage_base = base.map(|input| Usage { input, output: 10, ..Usage::default() });
        let start = SessionContext { resumed: resumed.then(|| Id::from("t")), usage_base, ..SessionContext::default() };
        let events = translate_lines(start, &format!("{TURN_STARTED_LINES}\n{TURN_COMPLETED_LINE}"), &[]);
        let used = events.iter().find_map(|event| match &event.body {
            EventBody::Usage(usage) => Some((usage.input, usage.cumulative)),
            _ => None,
        });
        assert_eq!(used, Some((input, cumulative)));
    }

    #[test]
    fn usage_is_what_came_on_top() {
        check_usage(false, None, 300, false);
        check_usage(true, Some(200), 100, false);
        check_usage(true, None, 300, true);
    }

    #[test]
    fn the_prompt_and_the_run_are_the_callers() {
        let start = SessionContext { prompt: Some("go".into()), ..SessionContext::default() };
        let item = r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"x"}}"#;
        let events = translate_lines(start, &format!("{TURN_STARTED_LINES}\n{item}\n{TURN_COMPLETED_LINE}"), &[]);
        let prompt = events.iter().find_map(|event| match &event.body {
            EventBody::TurnStarted(turn) => turn.prompt.clone(),
            _ => None,
        });
        assert_eq!(prompt.as_deref(), Some("go"));
        assert!(events.iter().any(|event| event.item.as_deref() == Some("r2.item_0")));
    }

    #[test]
    fn what_is_only_said_on_standard_error_is_why_nothing_came() {
        let said = "Error: thread/resume: thread/resume failed: no rollout found for thread id x (code -32600)";
        let notes = [EngineNote::Stderr(said), EngineNote::Exited { code: Some(1), signal: None }];
        let events = translate_lines(SessionContext::default(), "", &notes);
        let Some(EventBody::SessionEnded(ended)) = events.last().map(|event| &event.body) else { panic!("no end") };
        let code = ended.error.as_ref().map(|error| error.code);
        assert_eq!((ended.reason, code), (EndReason::Failed, Some(switchboard_event::ErrorCode::SessionNotFound)));
    }
}
