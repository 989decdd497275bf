//! Reader of the event bus of `opencode serve`. It unwraps, places and dispatches events; each kind of event has its
//! own file.

use switchboard_event::{Dir, Id, Level, Notice, Topic};

use super::{
    calls::Pending,
    chatter,
    clock::Clock,
    exchange::Posted,
    messages::Message,
    offers::Offers,
    requests::Questions,
    sessions::{Seat, Sessions},
    turn::Turn,
    wire::Event,
};
use crate::{JsonObject, JsonView, RecordReader, RunRecorder, bounded::BoundedMap};

/// Reads the event bus.
#[derive(Default)]
pub struct Bus {
    clock: Clock,
    pub(super) sessions: Sessions,
    /// The event being read belongs to the conversation itself, not to a subagent.
    pub(super) main: bool,
    /// The session of the subagent that the event belongs to.
    pub(super) thread: Option<Id>,
    pub(super) turn: Turn,
    pub(super) messages: BoundedMap<Message>,
    /// Finished parts. Later updates of them are late.
    pub(super) ended: BoundedMap<()>,
    /// Tool calls, by message and call id.
    pub(super) calls: BoundedMap<Pending>,
    pub(super) questions: Questions,
    /// Requests that OpenCode opened.
    pub(super) asked: BoundedMap<()>,
    /// Requests that Switchboard answered. The bus repeats these answers.
    pub(super) replied: BoundedMap<()>,
    /// Switchboard stopped the turn, possibly before the bus showed its beginning.
    pub(super) stopped: bool,
    pub(super) offers: Offers,
    /// The mode was reported or chosen.
    pub(super) moded: bool,
    pub(super) posted: Posted,
    /// Parts that were seen, with the number of the bus connection that showed them.
    pub(super) seen: BoundedMap<u32>,
    /// Number of connections to the bus so far. The bus drops events that have no listener.
    pub(super) connections: u32,
    /// Names of MCP servers. OpenCode prefixes the names of their tools with the server's name.
    pub(super) servers: Vec<String>,
    /// A compaction is running.
    pub(super) compacting: bool,
    /// The summary that replaces the conversation after a compaction.
    pub(super) summary: Option<String>,
    /// Some messages were reverted.
    pub(super) reverted: bool,
}

impl RecordReader for Bus {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        if dir == Dir::Out {
            return self.sent(&record.as_object(), recorder);
        }
        let fields = record.as_object();
        if is_answer(&fields) {
            return self.heard_back(&fields, recorder);
        }
        let Some(event) = Event::of(fields) else { return };
        recorder.set_record_time(self.clock.time(
            event.said(),
            event.id.as_deref(),
            event.hint(),
            recorder.current_time(),
        ));
        self.place(&event, recorder);
        if let Some(notice) = chatter::notice(&event) {
            recorder.write_notice_if_no_event(notice);
        }
    }

    /// Reads a line of the raw server-sent event stream: payloads and keep-alive comments.
    fn read_text(&mut self, dir: Dir, line: &str, recorder: &mut RunRecorder) {
        if let Some(payload) = line.strip_prefix("data:").and_then(|payload| JsonView::parse(payload.trim())) {
            return self.read(dir, payload, recorder);
        }
        let (topic, level) = match line {
            line if line.starts_with(':') => (Topic::Heartbeat, Level::Info),
            line if line.starts_with("opencode server listening on ") => (Topic::Control, Level::Debug),
            _ => (Topic::Stdout, Level::Info),
        };
        recorder.write_notice(Notice::new(topic).with_level(level).with_text(line));
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        self.sessions.settle(recorder);
        if recorder.in_turn() && (self.turn.is_decided() || self.turn.is_unanswered(recorder.current_time())) {
            self.turn.close(recorder);
        }
    }
}

/// Returns whether the record is a response of the server. Events of the bus have a type instead.
fn is_answer(fields: &JsonObject<'_>) -> bool {
    fields.contains_key("method") && fields.contains_key("path") && !fields.contains_key("type")
}

impl Bus {
    fn place(&mut self, event: &Event<'_>, recorder: &mut RunRecorder) {
        (self.main, self.thread) = (false, None);
        match self.sessions.seat(event, recorder) {
            Seat::Main => {
                self.main = true;
                self.dispatch(event, recorder);
            }
            Seat::Child(item, session) => {
                self.thread = Some(session.clone());
                recorder.set_scope(item, Some(session));
                self.dispatch(event, recorder);
            }
            Seat::Elsewhere(session) => {
                recorder.set_scope(None, Some(session));
                recorder.write_notice(chatter::elsewhere(event));
            }
            Seat::Nowhere => self.affairs(event, recorder),
            Seat::Waiting => {}
        }
    }

    fn dispatch(&mut self, event: &Event<'_>, recorder: &mut RunRecorder) {
        let fields = &event.fields;
        match &*event.kind {
            "session.updated" => self.session_updated(fields, recorder),
            "session.status" => self.session_status(&fields.get_object("status"), recorder),
            "session.idle" => self.session_idle(recorder),
            "session.error" => self.session_error(fields, recorder),
            "session.compacted" => self.session_compacted(recorder),
            "session.deleted" => self.session_deleted(recorder),
            "message.updated" => self.message_updated(&fields.get_object("info"), recorder),
            "message.removed" => self.message_removed(fields, recorder),
            "message.part.updated" => self.part_updated(&fields.get_object("part"), recorder),
            "message.part.delta" => self.part_delta(fields, recorder),
            "message.part.removed" => self.part_removed(fields, recorder),
            // `permission.updated` is the name in older versions.
            "permission.updated" | "permission.asked" | "permission.v2.asked" => {
                self.permission_asked(fields, recorder)
            }
            "permission.replied" | "permission.v2.replied" => self.permission_replied(fields, recorder),
            "question.asked" | "question.v2.asked" => self.question_asked(fields, recorder),
            "question.replied" | "question.v2.replied" => self.question_replied(fields, recorder),
            "question.rejected" | "question.v2.rejected" => self.question_rejected(fields, recorder),
            kind => {
                if let Some(kind) = kind.strip_prefix("session.next.") {
                    self.next(kind, fields, recorder);
                }
            }
        }
    }

    /// Reads events about the server, and events about a session that they do not name.
    fn affairs(&mut self, event: &Event<'_>, recorder: &mut RunRecorder) {
        match &*event.kind {
            // A prompt sent by Switchboard still expects a reply, however late.
            "server.heartbeat" if self.sessions.are_ours() => {}
            "server.heartbeat" if recorder.in_turn() && self.turn.is_unanswered(recorder.current_time()) => {
                self.turn.close(recorder)
            }
            "session.error" => {
                self.main = true;
                self.session_error(&event.fields, recorder);
            }
            "server.connected" => self.connections = self.connections.saturating_add(1),
            "mcp.tools.changed" => self.know_server(event.fields.get_non_empty("server")),
            _ => {}
        }
    }

    fn know_server(&mut self, server: Option<String>) {
        const LIMIT: usize = 64;
        if let Some(server) = server.filter(|server| !self.servers.contains(server) && self.servers.len() < LIMIT) {
            self.servers.push(server);
        }
    }

    pub(super) fn settle(&mut self, recorder: &mut RunRecorder) {
        if self.main && recorder.in_turn() && self.turn.is_over() {
            self.end_turn(recorder);
        }
    }

    /// Ends the turn and closes its open items. Later updates of these items are late.
    pub(super) fn end_turn(&mut self, recorder: &mut RunRecorder) {
        for id in recorder.open_items(None) {
            self.ended.insert(id, ());
        }
        self.turn.close(recorder);
    }

    /// Reports an update of something that had already ended.
    pub(super) fn late(&self, id: &Id, name: &str, recorder: &mut RunRecorder) {
        let notice = Notice::new(Topic::Late).with_level(Level::Debug).with_name(name);
        recorder.write_notice_about(Some(id.clone()), notice);
    }
}
