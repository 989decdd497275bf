//! The reader: what kind of message a record is, and who reads it.

use switchboard_event::{Dir, EndReason, Fault, Notice, Timestamp, Topic};

use super::{
    super::{errors, responses::Responses},
    calls::Calls,
    items::Parts,
    requests::Requests,
    settings::Settings,
    threads::Threads,
    turns::Turns,
};
use crate::{Ending, Json, Note, Object, Reader, Scribe};

/// Reads a transcript of the app-server.
#[derive(Default)]
pub struct AppServer {
    pub(super) threads: Threads,
    pub(super) turns: Turns,
    pub(super) calls: Calls,
    pub(super) requests: Requests,
    pub(super) settings: Settings,
    pub(super) parts: Parts,
    pub(super) responses: Responses,
    /// The last error, as long as nothing shows that the work went on.
    pub(super) error: Option<Fault>,
    /// The session's thread is open.
    pub(super) opened: bool,
    /// Why the next request will be declined: the answer itself has no words.
    pub(super) reason: Option<String>,
    /// There has been a turn.
    worked: bool,
    /// We stop the process: whatever it says last is no failure.
    stopping: bool,
}

impl Reader for AppServer {
    fn tells_time(&self) -> bool {
        true
    }

    fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        scribe.happened(fields.get("emittedAtMs").and_then(Json::i64).and_then(Timestamp::from_millis));
        let (method, id) = (fields.str("method"), fields.get("id"));
        let params = fields.object("params");
        match (dir, method, id) {
            (Dir::In, Some(method), None) => self.notification(&method, &params, scribe),
            // Their ids are a space of their own and collide with ours.
            (Dir::In, Some(method), Some(id)) => self.request(id, &method, &params, scribe),
            (Dir::Out, Some(method), id) => self.call(id, &method, &params, scribe),
            (Dir::In, None, Some(id)) => self.response(id, &fields, scribe),
            (Dir::Out, None, Some(id)) => self.answer(id, &fields, scribe),
            (_, None, None) => self.responses.read(dir, record, scribe),
        }
        self.worked |= scribe.in_turn();
    }

    fn note(&mut self, note: &Note<'_>, _: &mut Scribe) {
        self.stopping |= matches!(note, Note::Stopping(_));
    }

    fn end(&mut self, scribe: &mut Scribe) {
        self.threads.identify(scribe);
        if self.stopping {
            return;
        }
        match self.error.take() {
            Some(fault) if scribe.in_turn() => scribe.turn_completed(errors::failed_turn(fault, None)),
            Some(fault) if !self.worked => {
                scribe.session_ending(Ending { reason: EndReason::Failed, error: Some(fault) });
            }
            // A thread that was opened and never asked anything came to no harm.
            None if !self.worked && self.opened && !self.turns.is_asked() => {
                scribe.session_ending(Ending { reason: EndReason::Completed, error: None });
            }
            _ => self.responses.end(scribe),
        }
    }
}

impl AppServer {
    fn notification(&mut self, method: &str, params: &Object<'_>, scribe: &mut Scribe) {
        match method.split('/').next() {
            Some("item") => self.item(method, params, scribe),
            Some("turn" | "error") => self.turn(method, params, scribe),
            Some("thread") => self.thread(method, params, scribe),
            _ => self.other(method, params, scribe),
        }
    }
}

/// Talk between host and agent.
pub fn control(name: &str) -> Notice {
    Notice::new(Topic::Control).with_name(name)
}
