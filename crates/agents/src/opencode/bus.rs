//! Reader of the event bus of `opencode serve`. It unwraps events, assigns them to conversations and dispatches them;
//! each kind of event has its own file. Events without meaning for the conversation become notices.

use std::borrow::Cow;

use switchboard_event::{Dir, Id, Level, Notice, Timestamp, Topic};

use super::{
    calls::PendingCall,
    clock::EventClock,
    exchange::OutstandingPrompts,
    messages::BusMessage,
    offers::OpenCodeOffers,
    requests::OpenQuestions,
    sessions::{EventOwner, SessionTree},
    turn::OpenCodeTurn,
};
use crate::{JsonObject, JsonView, RecordReader, RunRecorder, bounded::BoundedMap};

const TOPICS: &[(Topic, &[&str])] = &[(Topic::Echo, REPEATED), (Topic::Heartbeat, ALIVE), (Topic::Control, AFFAIRS)];

/// Events that repeat something: the whole session or message, an unchanged status, or the content of a tool part.
#[rustfmt::skip]
const REPEATED: &[&str] = &[
    "sync", "session.updated", "session.status", "session.idle", "session.diff", "message.updated", "message.part.updated",
    "permission.asked", "permission.updated", "permission.v2.asked", "question.asked", "question.v2.asked",
    "todo.updated", "file.edited", "file.watcher.updated",
    "session.next.prompt.admitted", "session.next.agent.switched", "session.next.moved",
    "session.next.text.started", "session.next.reasoning.started", "session.next.tool.progress",
];

/// Events that show that the server is alive: it loads components, or a model writes text that is not shown.
#[rustfmt::skip]
const ALIVE: &[&str] = &[
    "server.heartbeat", "server.connected", "plugin.added", "catalog.updated", "reference.updated", "integration.updated",
    "integration.connection.updated", "models-dev.refreshed", "lsp.updated", "lsp.client.diagnostics", "message.part.delta",
    "session.next.tool.input.delta", "session.next.tool.input.ended", "session.next.compaction.delta",
];

#[rustfmt::skip]
const AFFAIRS: &[&str] = &[
    "server.instance.disposed", "global.disposed", "session.created", "session.deleted", "session.error", "command.executed",
    "vcs.branch.updated", "pty.created", "pty.updated", "pty.exited", "pty.deleted", "mcp.tools.changed",
    "project.updated", "project.directories.updated", "installation.updated", "installation.update-available", "ide.installed",
    "workspace.ready", "workspace.failed", "workspace.status", "worktree.ready", "worktree.failed",
    "session.next.context.updated", "session.next.revert.cleared",
];

/// Reads the event bus.
#[derive(Default)]
pub struct BusReader {
    clock: EventClock,
    pub(super) sessions: SessionTree,
    /// The event being read belongs to the conversation itself, not to a subagent.
    pub(super) main: bool,
    /// The session of the subagent that the event belongs to.
    pub(super) thread: Option<Id>,
    pub(super) turn: OpenCodeTurn,
    pub(super) messages: BoundedMap<BusMessage>,
    /// Finished parts. Later updates of them are late.
    pub(super) ended: BoundedMap<()>,
    /// Tool calls, by message and call id.
    pub(super) calls: BoundedMap<PendingCall>,
    pub(super) questions: OpenQuestions,
    /// Requests that OpenCode opened.
    pub(super) asked: BoundedMap<()>,
    /// Requests that Switchboard answered. The bus repeats these answers.
    pub(super) replied: BoundedMap<()>,
    /// Switchboard stopped the turn, possibly before the bus showed its beginning.
    pub(super) stopped: bool,
    pub(super) offers: OpenCodeOffers,
    /// The mode was reported or chosen.
    pub(super) moded: bool,
    pub(super) posted: OutstandingPrompts,
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

impl RecordReader for BusReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        if dir == Dir::Out {
            return self.read_request(&record.as_object(), recorder);
        }
        let fields = record.as_object();
        if is_answer(&fields) {
            return self.read_response(&fields, recorder);
        }
        let Some(event) = BusEvent::of(fields) else { return };
        recorder.set_record_time(self.clock.time(
            event.own_timestamp(),
            event.id.as_deref(),
            event.hint(),
            recorder.current_time(),
        ));
        self.assign_and_dispatch(&event, recorder);
        if let Some(notice) = notice(&event) {
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

impl BusReader {
    fn assign_and_dispatch(&mut self, event: &BusEvent<'_>, recorder: &mut RunRecorder) {
        (self.main, self.thread) = (false, None);
        match self.sessions.find_owner(event, recorder) {
            EventOwner::Main => {
                self.main = true;
                self.dispatch(event, recorder);
            }
            EventOwner::Child(item, session) => {
                self.thread = Some(session.clone());
                recorder.set_scope(item, Some(session));
                self.dispatch(event, recorder);
            }
            EventOwner::Foreign(session) => {
                recorder.set_scope(None, Some(session));
                recorder.write_notice(foreign_notice(event));
            }
            EventOwner::Server => self.read_server_event(event, recorder),
            EventOwner::Undecided => {}
        }
    }

    fn dispatch(&mut self, event: &BusEvent<'_>, recorder: &mut RunRecorder) {
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
    fn read_server_event(&mut self, event: &BusEvent<'_>, recorder: &mut RunRecorder) {
        match &*event.kind {
            // A prompt sent by Switchboard still expects a reply, however late.
            "server.heartbeat" if self.sessions.sends_prompts() => {}
            "server.heartbeat" if recorder.in_turn() && self.turn.is_unanswered(recorder.current_time()) => {
                self.turn.close(recorder)
            }
            "session.error" => {
                self.main = true;
                self.session_error(&event.fields, recorder);
            }
            "server.connected" => self.connections = self.connections.saturating_add(1),
            "mcp.tools.changed" => self.add_mcp_server(event.fields.get_non_empty("server")),
            _ => {}
        }
    }

    fn add_mcp_server(&mut self, server: Option<String>) {
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
    pub(super) fn report_late_update(&self, id: &Id, name: &str, recorder: &mut RunRecorder) {
        let notice = Notice::new(Topic::Late).with_level(Level::Debug).with_name(name);
        recorder.write_notice_about(Some(id.clone()), notice);
    }
}

/// Returns the notice for a known event that caused no other event.
pub fn notice(event: &BusEvent<'_>) -> Option<Notice> {
    let fields = &event.fields;
    let notice = Notice::new(topic(event)?).with_level(Level::Debug).with_name(&*event.kind);
    Some(match &*event.kind {
        "session.status" => Notice { status: fields.get_object("status").get_non_empty("type"), ..notice },
        "session.idle" => notice.with_status("idle"),
        "file.edited" | "file.watcher.updated" => Notice { text: fields.get_non_empty("file"), ..notice },
        "vcs.branch.updated" => Notice { text: fields.get_non_empty("branch"), ..notice },
        "command.executed" => Notice { text: fields.get_non_empty("name"), ..notice },
        "todo.updated" => Notice { detail: fields.get_raw("todos"), ..notice },
        "session.diff" => Notice { detail: fields.get_raw("diff"), ..notice },
        "mcp.browser.open.failed" => notice.with_level(Level::Warning),
        _ => notice,
    })
}

/// Returns the notice for an event of another conversation.
fn foreign_notice(event: &BusEvent<'_>) -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug).with_name(&*event.kind)
}

fn topic(event: &BusEvent<'_>) -> Option<Topic> {
    let kind = &*event.kind;
    let listed = |(topic, kinds): &(Topic, &[&str])| kinds.contains(&kind).then_some(*topic);
    match kind {
        "session.diff" if !event.fields.get_array("diff").is_empty() => Some(Topic::Snapshot),
        "mcp.browser.open.failed" => Some(Topic::Warning),
        _ if kind.starts_with("tui.") => Some(Topic::Control),
        _ => TOPICS.iter().find_map(listed),
    }
}

/// An unwrapped event.
pub struct BusEvent<'a> {
    pub kind: Cow<'a, str>,
    pub fields: JsonObject<'a>,
    pub id: Option<Cow<'a, str>>,
}

impl<'a> BusEvent<'a> {
    /// Unwraps a record. Returns `None` if it is not an event.
    pub fn of(outer: JsonObject<'a>) -> Option<Self> {
        let inner = outer.get_object("payload");
        let event = if inner.contains_key("type") { inner } else { outer };
        let fields = event.get("properties").or_else(|| event.get("data")).map(JsonView::as_object).unwrap_or_default();
        Some(Self { kind: event.get_str("type")?, id: event.get_str("id"), fields })
    }

    /// Returns the session that the event is about.
    pub fn session(&self) -> Option<Cow<'a, str>> {
        let inner = |key, id| self.fields.get_object(key).get_str(id);
        let own = || self.kind.starts_with("session.").then(|| inner("info", "id")).flatten();
        self.fields
            .get_str("sessionID")
            .or_else(|| inner("info", "sessionID"))
            .or_else(|| inner("part", "sessionID"))
            .or_else(own)
    }

    /// Returns the event's own timestamp, if it has one.
    fn own_timestamp(&self) -> Option<Timestamp> {
        self.fields.get("timestamp").or_else(|| self.fields.get("time")).and_then(time)
    }

    /// Returns a time in the event that is not later than the event itself.
    pub fn hint(&self) -> Option<Timestamp> {
        let times = self.fields.get_object("info").get_object("time");
        ["updated", "completed", "created"].into_iter().find_map(|key| times.get(key)).and_then(time)
    }
}

/// Parses a point in time: milliseconds since 1970, or text.
pub fn time(value: JsonView<'_>) -> Option<Timestamp> {
    match value.as_str() {
        Some(text) => Timestamp::parse(&text),
        None => value.as_u64().and_then(|ms| ms.try_into().ok()).and_then(Timestamp::from_millis),
    }
}

/// Returns the duration between the start and the end.
pub fn took(time: &JsonObject<'_>) -> Option<u64> {
    time.get_u64("end")?.checked_sub(time.get_u64("start")?)
}
