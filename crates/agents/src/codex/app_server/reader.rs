//! Dispatches each record by its kind of message.

use switchboard_event::{Dir, EndReason, Fault, Notice, Timestamp, Topic};

use super::{
    calls::TranscriptClientRequests, items::ReasoningParts, requests::TranscriptServerRequests,
    settings::AppServerSettings, threads::AppServerThreads, turns::AppServerTurns,
};
use crate::{
    EngineNote, JsonObject, JsonView, RecordReader, RunRecorder, SessionEnding,
    codex::{errors, responses::ResponsesApiReader},
};

/// Reads a transcript of the app-server.
#[derive(Default)]
pub struct AppServerReader {
    pub(super) threads: AppServerThreads,
    pub(super) turns: AppServerTurns,
    pub(super) calls: TranscriptClientRequests,
    pub(super) requests: TranscriptServerRequests,
    pub(super) settings: AppServerSettings,
    pub(super) parts: ReasoningParts,
    pub(super) responses: ResponsesApiReader,
    /// The last error, until later records show that the work continued.
    pub(super) error: Option<Fault>,
    /// The session's thread is open.
    pub(super) opened: bool,
    /// Reason for declining the next request; the answer itself cannot carry one.
    pub(super) reason: Option<String>,
    /// A turn has run.
    worked: bool,
    /// Switchboard is stopping the process, so its last messages are no failure.
    stopping: bool,
}

impl RecordReader for AppServerReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        recorder.set_record_time(fields.get("emittedAtMs").and_then(JsonView::as_i64).and_then(Timestamp::from_millis));
        let (method, id) = (fields.get_str("method"), fields.get("id"));
        let params = fields.get_object("params");
        match (dir, method, id) {
            (Dir::In, Some(method), None) => self.read_notification(&method, &params, recorder),
            // Request ids of the server are a separate space and collide with those of the client.
            (Dir::In, Some(method), Some(id)) => self.read_request(id, &method, &params, recorder),
            (Dir::Out, Some(method), id) => self.read_client_message(id, &method, &params, recorder),
            (Dir::In, None, Some(id)) => self.read_response(id, &fields, recorder),
            (Dir::Out, None, Some(id)) => self.read_answer(id, &fields, recorder),
            (_, None, None) => self.responses.read(dir, record, recorder),
        }
        self.worked |= recorder.in_turn();
    }

    fn handle_note(&mut self, note: &EngineNote<'_>, _: &mut RunRecorder) {
        self.stopping |= matches!(note, EngineNote::Stopping(_));
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        self.threads.identify_session(recorder);
        if self.stopping {
            return;
        }
        match self.error.take() {
            Some(fault) if recorder.in_turn() => recorder.turn_completed(errors::failed_turn(fault, None)),
            Some(fault) if !self.worked => {
                recorder.session_ending(SessionEnding { reason: EndReason::Failed, error: Some(fault) });
            }
            // A thread that was opened and never prompted ended successfully.
            None if !self.worked && self.opened && !self.turns.has_requested_turns() => {
                recorder.session_ending(SessionEnding { reason: EndReason::Completed, error: None });
            }
            _ => self.responses.end(recorder),
        }
    }
}

impl AppServerReader {
    fn read_notification(&mut self, method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match method.split('/').next() {
            Some("item") => self.read_item(method, params, recorder),
            Some("turn" | "error") => self.read_turn_notification(method, params, recorder),
            Some("thread") => self.read_thread_notification(method, params, recorder),
            _ => self.read_other_notification(method, params, recorder),
        }
    }
}

/// Notice for a message between host and agent.
pub fn control_notice(name: &str) -> Notice {
    Notice::new(Topic::Control).with_name(name)
}
