//! Dispatches each record by its kind of message.

use switchboard_event::{Dir, EndReason, Fault, Notice, Timestamp, Topic};

use super::{
    super::{errors, responses::ResponsesApiReader},
    calls::TranscriptClientRequests,
    items::ReasoningParts,
    requests::TranscriptServerRequests,
    settings::AppServerSettings,
    threads::AppServerThreads,
    turns::AppServerTurns,
};
use crate::{EngineNote, JsonObject, JsonView, RecordReader, RunRecorder, SessionEnding};

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

    fn read(&mut self, dir: Dir, record: JsonView<'_>, scribe: &mut RunRecorder) {
        let fields = record.as_object();
        scribe.set_record_time(fields.get("emittedAtMs").and_then(JsonView::as_i64).and_then(Timestamp::from_millis));
        let (method, id) = (fields.get_str("method"), fields.get("id"));
        let params = fields.get_object("params");
        match (dir, method, id) {
            (Dir::In, Some(method), None) => self.read_notification(&method, &params, scribe),
            // Request ids of the server are a separate space and collide with those of the client.
            (Dir::In, Some(method), Some(id)) => self.read_request(id, &method, &params, scribe),
            (Dir::Out, Some(method), id) => self.read_client_message(id, &method, &params, scribe),
            (Dir::In, None, Some(id)) => self.read_response(id, &fields, scribe),
            (Dir::Out, None, Some(id)) => self.read_answer(id, &fields, scribe),
            (_, None, None) => self.responses.read(dir, record, scribe),
        }
        self.worked |= scribe.in_turn();
    }

    fn handle_note(&mut self, handle_note: &EngineNote<'_>, _: &mut RunRecorder) {
        self.stopping |= matches!(handle_note, EngineNote::Stopping(_));
    }

    fn finish(&mut self, scribe: &mut RunRecorder) {
        self.threads.identify_session(scribe);
        if self.stopping {
            return;
        }
        match self.error.take() {
            Some(fault) if scribe.in_turn() => scribe.turn_completed(errors::failed_turn(fault, None)),
            Some(fault) if !self.worked => {
                scribe.session_ending(SessionEnding { reason: EndReason::Failed, error: Some(fault) });
            }
            // A thread that was opened and never prompted ended successfully.
            None if !self.worked && self.opened && !self.turns.has_requested_turns() => {
                scribe.session_ending(SessionEnding { reason: EndReason::Completed, error: None });
            }
            _ => self.responses.end(scribe),
        }
    }
}

impl AppServerReader {
    fn read_notification(&mut self, method: &str, params: &JsonObject<'_>, scribe: &mut RunRecorder) {
        match method.split('/').next() {
            Some("item") => self.read_item(method, params, scribe),
            Some("turn" | "error") => self.read_turn_notification(method, params, scribe),
            Some("thread") => self.read_thread_notification(method, params, scribe),
            _ => self.read_other_notification(method, params, scribe),
        }
    }
}

/// Notice for a message between host and agent.
pub fn control_notice(name: &str) -> Notice {
    Notice::new(Topic::Control).with_name(name)
}
