//! What a trace has of the session as a whole: its description, models, token usage and notices.

use std::{borrow::Cow, fmt::Write as _};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use switchboard_event::{
    Delta, Details, Event, EventBody, Id, Info, Item, Level, Notice, SessionStarted, Topic, Usage,
};

use super::{
    project::TraceSink,
    wire::{SerializedFields, TraceChannel, TraceEventType, TraceOrigin, TraceRole, TraceTool},
};
use crate::{projection, tools};

/// Maximum number of remembered replies: those that can be in progress at once.
const MAX_REMEMBERED_REPLIES: usize = 16;

/// The known properties of the session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TraceSessionContext {
    product: Option<String>,
    project_root: Option<String>,
    /// The agent's own name for the project; by default the hash of its root.
    project_hash: Option<String>,
    session: Option<Id>,
    model: Option<String>,
    pub user_message: Option<String>,
    /// The serialized shared fields; none if they have changed.
    origin: Option<SerializedFields>,
}

impl TraceSessionContext {
    /// Starts a run. If the agent session differs, no user message is known yet.
    pub fn start_run(&mut self, started: &SessionStarted) {
        self.origin = None;
        if self.is_other_session(started) {
            self.session.clone_from(&started.agent_session);
            self.user_message = None;
        }
        self.set_model_and_root(started.config.model.as_ref(), started.config.working_directory.as_ref());
        self.apply_info(&started.info);
    }

    /// Applies changed session info.
    pub fn apply_info(&mut self, info: &Info) {
        self.origin = None;
        self.set_model_and_root(info.model.as_ref(), info.cwd.as_ref());
        if info.project_hash.is_some() {
            self.project_hash.clone_from(&info.project_hash);
        }
        if info.product.is_some() {
            self.product.clone_from(&info.product);
        }
    }

    fn set_model_and_root(&mut self, model: Option<&String>, root: Option<&String>) {
        if model.is_some() {
            self.model = model.cloned();
        }
        if root.is_some() {
            self.project_root = root.cloned();
        }
    }

    /// Returns whether a run belongs to another agent session than the previous one.
    pub fn is_other_session(&self, started: &SessionStarted) -> bool {
        started.agent_session.is_some() && started.agent_session != self.session
    }

    /// Returns the shared fields, the model, and the user message that the event belongs to. The source defaults to the
    /// agent's name, the session id to ours, and the hash of an unknown project is that of an empty path.
    pub fn event_context(&mut self, event: &Event) -> (&SerializedFields, Option<&str>, Option<&str>) {
        let origin = self.origin.get_or_insert_with(|| {
            let root = self.project_root.as_deref().unwrap_or_default();
            let project_hash = self.project_hash.clone().unwrap_or_else(|| sha256_hex(root));
            SerializedFields::from_value(&TraceOrigin {
                schema_version: "agtrace.event.v1",
                source: self.product.as_deref().unwrap_or(&event.agent),
                project_hash: &project_hash,
                project_root: self.project_root.as_deref(),
                session_id: Some(self.session.as_deref().unwrap_or(&event.session)),
            })
        });
        (origin, self.model.as_deref(), self.user_message.as_deref())
    }
}

fn sha256_hex(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a string cannot fail.
        let _ok = write!(hex, "{byte:02x}");
    }
    hex
}

/// The models of the latest replies.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReplyModels(Vec<(Id, String)>);

/// The model of a message.
pub enum ReplyModel {
    /// A known model.
    Known(String),
    /// The session's model.
    Sessions,
    /// Possibly another model than the session's.
    Unknown,
}

impl ReplyModels {
    /// Records the model reported with the usage of a reply.
    pub fn record_usage(&mut self, usage: &Usage) {
        let (Some(reply), Some(model)) = (&usage.key, &usage.model) else { return };
        if self.0.len() == MAX_REMEMBERED_REPLIES {
            self.0.remove(0);
        }
        self.0.push((reply.clone(), model.clone()));
    }

    /// Returns the model of a reply.
    pub fn model_of(&self, reply: Option<&Id>, is_subagents: bool) -> ReplyModel {
        let known = reply.and_then(|reply| self.0.iter().rev().find(|(known, _)| known == reply));
        match known {
            Some((_, model)) => ReplyModel::Known(model.clone()),
            None if is_subagents && reply.is_some() => ReplyModel::Unknown,
            None => ReplyModel::Sessions,
        }
    }
}

impl ReplyModel {
    /// Replaces the session's model.
    pub fn apply_to<'a>(&'a self, place: &mut Option<&'a str>) {
        match self {
            Self::Known(model) => *place = Some(model),
            Self::Unknown => *place = None,
            Self::Sessions => {}
        }
    }
}

/// Tokens waiting for the next event of their reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingTokens {
    pub usage: Usage,
    /// The event that reported the tokens, without its body.
    #[serde(deserialize_with = "projection::read_event")]
    pub event: Event,
    #[serde(default, deserialize_with = "projection::read_present", skip_serializing_if = "Option::is_none")]
    pub raw: Option<Box<RawValue>>,
}

impl PendingTokens {
    pub fn new(usage: &Usage, event: &Event, raw: Option<Box<RawValue>>) -> Self {
        Self { usage: usage.clone(), event: without_body(event), raw }
    }

    /// Returns whether the tokens can keep waiting: the event writes nothing, or is the expected one.
    pub fn keeps_waiting(&self, event: &Event) -> bool {
        match &event.body {
            EventBody::ItemDelta(_) => true,
            EventBody::ItemStarted(item) => !tools::is_work(item) || self.belongs_to(item, event),
            EventBody::ItemCompleted(item) => is_speech(item) && self.belongs_to(item, event),
            _ => false,
        }
    }

    /// Returns whether the tokens belong to the reply of the item.
    pub fn belongs_to(&self, item: &Item, event: &Event) -> bool {
        self.usage.key.is_some() && item.reply == self.usage.key && event.thread == self.event.thread
    }
}

/// Returns an event without its body.
pub fn without_body(event: &Event) -> Event {
    Event {
        seq: event.seq,
        session: event.session.clone(),
        at: event.at,
        agent: event.agent.clone(),
        run: event.run,
        turn: event.turn,
        item: event.item.clone(),
        parent: event.parent.clone(),
        thread: event.thread.clone(),
        body: EventBody::ItemDelta(Delta::Progress { elapsed_ms: None, ratio: None, text: None }),
        native: None,
        cause: None,
    }
}

fn is_speech(item: &Item) -> bool {
    matches!(item.details, Details::AgentMessage(_) | Details::Reasoning(_))
}

/// Writes a notice. Heartbeats, echoes and communication between host and agent are omitted, like text deltas.
pub fn write_notice(notice: &Notice, sink: &mut TraceSink<'_>) {
    let talk = matches!(notice.topic, Topic::Status | Topic::Control) && notice.level == Level::Debug;
    if talk || matches!(notice.topic, Topic::Heartbeat | Topic::Echo) {
        return;
    }
    let (kind, channel) = classify_notice(notice);
    let text = notice_text(notice);
    let (item, text) = (sink.event.item.as_deref(), text.as_deref());
    sink.send(kind, channel, |line| {
        line.what.text = text;
        if is_local(notice) {
            line.what.role = TraceRole::Cli;
        }
        line.tool = item.map(|item| TraceTool { call_id: Some(item), ..TraceTool::default() });
    });
}

/// Returns whether the text is output of a command that the agent handles itself.
fn is_local(notice: &Notice) -> bool {
    notice.topic == Topic::Stdout && notice.name.as_deref() == Some("local_command")
}

fn classify_notice(notice: &Notice) -> (TraceEventType, TraceChannel) {
    let says = notice.text.is_some() || notice.error.is_some();
    match notice.topic {
        Topic::Stdout | Topic::Stderr => (TraceEventType::Log, TraceChannel::Terminal),
        Topic::Hook => (TraceEventType::Log, TraceChannel::System),
        Topic::Snapshot => (TraceEventType::FileSnapshot, TraceChannel::Filesystem),
        Topic::Compaction | Topic::Status if is_summary(notice) => {
            (TraceEventType::SessionSummary, TraceChannel::System)
        }
        Topic::Compaction if says => (TraceEventType::SystemMessage, TraceChannel::System),
        Topic::Warning
        | Topic::Retry
        | Topic::RateLimit
        | Topic::Auth
        | Topic::Interrupt
        | Topic::Retracted
        | Topic::ModelChanged
            if says =>
        {
            (TraceEventType::SystemMessage, TraceChannel::System)
        }
        _ if notice.error.is_some() => (TraceEventType::SystemMessage, TraceChannel::System),
        _ => (TraceEventType::Meta, TraceChannel::System),
    }
}

/// Returns whether the notice is a session summary written by the model.
fn is_summary(notice: &Notice) -> bool {
    let status = notice.status.as_deref();
    notice.text.is_some()
        && (status == Some("summary") || notice.topic == Topic::Compaction && status != Some("failed"))
}

/// Returns the text of a notice: its text, error or name. A hook has all of them.
fn notice_text(notice: &Notice) -> Option<Cow<'_, str>> {
    let said = notice.text.as_deref().or(notice.error.as_ref().map(|error| error.message.as_str()));
    match (notice.topic, notice.name.as_deref()) {
        (Topic::Hook, Some(name)) => {
            let status = notice.status.as_deref().unwrap_or("ran");
            Some(said.map_or_else(|| format!("{name} {status}"), |said| format!("{name} {status}: {said}")).into())
        }
        (Topic::Snapshot, _) => Some(said.unwrap_or("snapshot of files").into()),
        (_, name) => said.or(name).map(Cow::Borrowed),
    }
}
