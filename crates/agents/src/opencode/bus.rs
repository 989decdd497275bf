//! The event bus of `opencode serve`. Only unwraps, places and dispatches; each kind of event has its own file.

use switchboard_event::{Dir, Id, Level, Notice, Topic};

use super::{
    calls::Pending,
    chatter,
    clock::Clock,
    exchange::Posted,
    messages::Message,
    offers::Offers,
    recent::Recent,
    requests::Questions,
    sessions::{Seat, Sessions},
    turn::Turn,
    wire::Event,
};
use crate::{Json, Object, Reader, Scribe};

/// Reads the event bus.
#[derive(Default)]
pub struct Bus {
    clock: Clock,
    pub(super) sessions: Sessions,
    /// The event being read belongs to the conversation itself, not to a subagent.
    pub(super) main: bool,
    /// The subagent's session that it belongs to.
    pub(super) thread: Option<Id>,
    pub(super) turn: Turn,
    pub(super) messages: Recent<Message>,
    /// Parts that are finished: what still comes for them is late.
    pub(super) ended: Recent<()>,
    /// Calls of tools, by message and call id.
    pub(super) calls: Recent<Pending>,
    pub(super) questions: Questions,
    /// What was asked.
    pub(super) asked: Recent<()>,
    /// What we answered: the bus says it again.
    pub(super) replied: Recent<()>,
    /// We stopped the turn, be it before the bus showed its beginning.
    pub(super) stopped: bool,
    /// What can be chosen.
    pub(super) offers: Offers,
    /// The mode is known.
    pub(super) moded: bool,
    /// Prompts that we sent.
    pub(super) posted: Posted,
    /// Parts that were heard of, and by which connection to the bus.
    pub(super) seen: Recent<u32>,
    /// How often the bus was connected to: it does not keep what nobody hears.
    pub(super) connections: u32,
    /// The names of MCP servers: their tools are called by the name of both.
    pub(super) servers: Vec<String>,
    /// The context is being made smaller.
    pub(super) compacting: bool,
    /// The summary that takes the place of the conversation.
    pub(super) summary: Option<String>,
    /// Some messages were taken back.
    pub(super) reverted: bool,
}

impl Reader for Bus {
    fn tells_time(&self) -> bool {
        true
    }

    fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe) {
        if dir == Dir::Out {
            return self.sent(&record.object(), scribe);
        }
        let fields = record.object();
        if is_answer(&fields) {
            return self.heard_back(&fields, scribe);
        }
        let Some(event) = Event::of(fields) else { return };
        scribe.happened(self.clock.time(event.said(), event.id.as_deref(), event.hint(), scribe.at()));
        self.place(&event, scribe);
        if let Some(notice) = chatter::notice(&event) {
            scribe.otherwise(notice);
        }
    }

    /// The stream of server-sent events as it is on the wire: payloads, and comments to keep it alive.
    fn text(&mut self, dir: Dir, line: &str, scribe: &mut Scribe) {
        if let Some(payload) = line.strip_prefix("data:").and_then(|payload| Json::parse(payload.trim())) {
            return self.read(dir, payload, scribe);
        }
        let (topic, level) = match line {
            line if line.starts_with(':') => (Topic::Heartbeat, Level::Info),
            line if line.starts_with("opencode server listening on ") => (Topic::Control, Level::Debug),
            _ => (Topic::Stdout, Level::Info),
        };
        scribe.notice(Notice::new(topic).with_level(level).with_text(line));
    }

    fn end(&mut self, scribe: &mut Scribe) {
        self.sessions.settle(scribe);
        if scribe.in_turn() && (self.turn.is_decided() || self.turn.is_unanswered(scribe.at())) {
            self.turn.close(scribe);
        }
    }
}

/// An answer of the server; events of the bus have a type.
fn is_answer(fields: &Object<'_>) -> bool {
    fields.has("method") && fields.has("path") && !fields.has("type")
}

impl Bus {
    fn place(&mut self, event: &Event<'_>, scribe: &mut Scribe) {
        (self.main, self.thread) = (false, None);
        match self.sessions.seat(event, scribe) {
            Seat::Main => {
                self.main = true;
                self.dispatch(event, scribe);
            }
            Seat::Child(item, session) => {
                self.thread = Some(session.clone());
                scribe.within(item, Some(session));
                self.dispatch(event, scribe);
            }
            Seat::Elsewhere(session) => {
                scribe.within(None, Some(session));
                scribe.notice(chatter::elsewhere(event));
            }
            Seat::Nowhere => self.affairs(event, scribe),
            Seat::Waiting => {}
        }
    }

    fn dispatch(&mut self, event: &Event<'_>, scribe: &mut Scribe) {
        let fields = &event.fields;
        match &*event.kind {
            "session.updated" => self.session_updated(fields, scribe),
            "session.status" => self.session_status(&fields.object("status"), scribe),
            "session.idle" => self.session_idle(scribe),
            "session.error" => self.session_error(fields, scribe),
            "session.compacted" => self.session_compacted(scribe),
            "session.deleted" => self.session_deleted(scribe),
            "message.updated" => self.message_updated(&fields.object("info"), scribe),
            "message.removed" => self.message_removed(fields, scribe),
            "message.part.updated" => self.part_updated(&fields.object("part"), scribe),
            "message.part.delta" => self.part_delta(fields, scribe),
            "message.part.removed" => self.part_removed(fields, scribe),
            // The first is the name it had in older versions.
            "permission.updated" | "permission.asked" | "permission.v2.asked" => self.permission_asked(fields, scribe),
            "permission.replied" | "permission.v2.replied" => self.permission_replied(fields, scribe),
            "question.asked" | "question.v2.asked" => self.question_asked(fields, scribe),
            "question.replied" | "question.v2.replied" => self.question_replied(fields, scribe),
            "question.rejected" | "question.v2.rejected" => self.question_rejected(fields, scribe),
            kind => {
                if let Some(kind) = kind.strip_prefix("session.next.") {
                    self.next(kind, fields, scribe);
                }
            }
        }
    }

    /// What is about the server, or about a session that it does not name.
    fn affairs(&mut self, event: &Event<'_>, scribe: &mut Scribe) {
        match &*event.kind {
            // A prompt of ours wants an answer, be it late.
            "server.heartbeat" if self.sessions.are_ours() => {}
            "server.heartbeat" if scribe.in_turn() && self.turn.is_unanswered(scribe.at()) => self.turn.close(scribe),
            "session.error" => {
                self.main = true;
                self.session_error(&event.fields, scribe);
            }
            "server.connected" => self.connections = self.connections.saturating_add(1),
            "mcp.tools.changed" => self.know_server(event.fields.filled("server")),
            _ => {}
        }
    }

    fn know_server(&mut self, server: Option<String>) {
        const LIMIT: usize = 64;
        if let Some(server) = server.filter(|server| !self.servers.contains(server) && self.servers.len() < LIMIT) {
            self.servers.push(server);
        }
    }

    /// Ends the turn if it is over.
    pub(super) fn settle(&mut self, scribe: &mut Scribe) {
        if self.main && scribe.in_turn() && self.turn.is_over() {
            self.end_turn(scribe);
        }
    }

    /// Ends the turn. What it leaves open is closed with it, and news about that are late.
    pub(super) fn end_turn(&mut self, scribe: &mut Scribe) {
        for id in scribe.open_items(None) {
            self.ended.insert(id, ());
        }
        self.turn.close(scribe);
    }

    /// News about something that had already ended.
    pub(super) fn late(&self, id: &Id, name: &str, scribe: &mut Scribe) {
        let notice = Notice::new(Topic::Late).with_level(Level::Debug).with_name(name);
        scribe.notice_about(Some(id.clone()), notice);
    }
}
