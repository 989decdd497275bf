//! Events to unified messages. Text is sent once: a chunk is always new text, and the last chunk of a message is
//! marked, be it empty.

use serde::{Deserialize, Serialize};
use switchboard_event::{
    Body, Change, ChangeKind, Delta, Details, Event, Fault, Field, Item, Level, Notice, SessionEnded, Status,
    Timestamp, Topic, TurnCompleted, TurnStatus,
};

use super::{
    chunk::{self, Chunk, SessionJson},
    wire::{Message, TokenUsage},
};
use crate::{
    Messages, Projection, plan, tools,
    track::{Track, TurnUsage, text_of},
};

/// The projection.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Unified {
    track: Track,
    usage: TurnUsage,
    turn_began: Timestamp,
    prompt: Option<String>,
    /// The plan as it was last shown: one that did not change is not shown again.
    plan: String,
    /// Made anew when it is needed.
    #[serde(skip)]
    session: SessionJson,
}

impl Projection for Unified {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        self.track.see(event);
        self.usage.see(event);
        let mut session = std::mem::take(&mut self.session);
        let mut out = Sink { event, out, part: 0, session: &mut session };
        match &event.body {
            Body::SessionStarted(started) => out.send("sessionStarted", |m| {
                // A session on another server is that of an agent there.
                m.agent_type = Some(started.config.agent_type.as_deref().unwrap_or(&event.agent));
                m.config = Some(&started.config);
            }),
            Body::SessionEnded(ended) => session_ended(ended, &mut out),
            Body::TurnStarted(turn) => {
                (self.turn_began, self.prompt) = (event.at, turn.prompt.clone());
                let prompt = Some(turn.prompt.as_deref().unwrap_or_default());
                out.send("turnStarted", |m| (m.turn_number, m.prompt) = (event.turn, prompt));
            }
            Body::TurnCompleted(turn) => self.turn_completed(turn, &mut out),
            Body::ItemStarted(item) => self.started(item, &mut out),
            Body::ItemDelta(delta) => self.delta(delta, &mut out),
            Body::ItemCompleted(item) => self.completed(item, &mut out),
            Body::Notice(notice) => notice_of(notice, &mut out),
            Body::SessionUpdated(_) | Body::RequestOpened(_) | Body::RequestResolved(_) | Body::Usage(_) => {}
        }
        self.session = session;
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Where the messages of one event go.
struct Sink<'a> {
    event: &'a Event,
    out: &'a mut Messages,
    part: u32,
    session: &'a mut SessionJson,
}

impl<'a> Sink<'a> {
    fn send<'m>(&mut self, kind: &'static str, fill: impl FnOnce(&mut Message<'m>))
    where
        'a: 'm,
    {
        let mut message = Message::new(self.event, self.part, kind);
        fill(&mut message);
        self.out.push(&message);
        self.part += 1;
    }

    fn text(&mut self, content: &str, is_complete: bool, channel: Option<&'static str>) {
        if self.part == 0 && self.event.thread.is_none() && self.event.parent.is_none() {
            chunk::write(self.event, &Chunk { content, is_complete, channel }, self.session, self.out);
            self.part += 1;
            return;
        }
        let channel = if self.event.thread.is_some() { Some("subagent") } else { channel };
        self.send("textChunk", |m| (m.content, m.is_complete, m.channel) = (Some(content), Some(is_complete), channel));
    }

    fn tool(&self) -> Option<&'a str> {
        self.event.item.as_deref()
    }
}

fn session_ended(ended: &SessionEnded, out: &mut Sink<'_>) {
    use switchboard_event::EndReason;
    let reason = match ended.reason {
        EndReason::Completed => "completed",
        EndReason::Failed => "failed",
        EndReason::Cancelled => "cancelled",
        EndReason::Timeout => "timeout",
    };
    out.send("sessionEnded", |m| {
        m.reason = Some(reason);
        m.error = ended.error.as_ref().map(|e| e.message.as_str());
        m.error_type = ended.error.as_ref().map(|e| e.code.kind());
    });
}

/// What went wrong and did not end the session. Other notices have no words in this protocol.
fn notice_of(notice: &Notice, out: &mut Sink<'_>) {
    let text = notice.text.as_deref();
    match (&notice.error, notice.topic, notice.level) {
        (Some(fault), ..) => out.send("error", |m| {
            m.message = Some(&fault.message);
            m.error_type = Some(fault.code.kind());
        }),
        (None, Topic::Stdout | Topic::Stderr, _) => out.text(text.unwrap_or_default(), true, Some("log")),
        (None, _, Level::Error) => {
            let fault = Fault::new(switchboard_event::ErrorCode::Unknown, text.unwrap_or("something went wrong"));
            out.send("error", |m| (m.message, m.error_type) = (Some(fault.message.as_str()), Some(fault.code.kind())));
        }
        _ => {}
    }
}

/// The channel of what an item says, if it says something: the answer has none.
fn channel(item: &Item) -> Option<Option<&'static str>> {
    match &item.details {
        Details::AgentMessage(_) => Some(None),
        Details::Reasoning(_) => Some(Some("reasoning")),
        _ => None,
    }
}

/// What happened to a file, in the protocol's words.
fn change_type(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Add => "created",
        ChangeKind::Modify | ChangeKind::Move => "modified",
        ChangeKind::Delete => "deleted",
    }
}

impl Unified {
    fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut Sink<'_>) {
        let usage = TokenUsage::from(self.usage.take());
        let duration_ms = turn.duration_ms.or_else(|| Some(out.event.at.millis_since(self.turn_began)));
        let turn_number = out.event.turn;
        if turn.status == TurnStatus::Completed {
            return out.send("turnCompleted", |m| {
                (m.turn_number, m.usage, m.duration_ms) = (turn_number, Some(usage), duration_ms);
            });
        }
        let default = if turn.status == TurnStatus::Interrupted { "interrupted" } else { "failed" };
        out.send("turnFailed", |m| {
            (m.turn_number, m.usage, m.duration_ms) = (turn_number, Some(usage), duration_ms);
            m.error = Some(turn.error.as_ref().map_or(default, |e| e.message.as_str()));
            m.error_type = Some(turn.error.as_ref().map_or(switchboard_event::ErrorKind::Unknown, |e| e.code.kind()));
        });
    }

    fn started(&mut self, item: &Item, out: &mut Sink<'_>) {
        if tools::is_tool(item) {
            start_tool(item, out);
        }
        if let (Some(channel), Some(id)) = (channel(item), out.tool()) {
            let text = text_of(item, None);
            if !text.is_empty() && self.track.grew(id, Field::Text, text).is_some() {
                out.text(text, false, channel);
            }
        }
        self.show_plan(item, out);
    }

    fn delta(&mut self, delta: &Delta, out: &mut Sink<'_>) {
        let Some(id) = out.tool() else { return };
        match delta {
            Delta::Append { field, text, .. } => {
                let Some(grown) = self.track.grew(id, *field, text) else { return };
                match channel(grown.item) {
                    Some(channel) if grown.shown => out.text(text, false, channel),
                    None if *field == Field::Output && tools::is_tool(grown.item) => {
                        out.send("toolProgress", |m| (m.tool_id, m.output) = (Some(id), Some(text.as_str())));
                    }
                    _ => {}
                }
            }
            Delta::Progress { ratio, text, .. } if self.track.get(id).is_some_and(|t| tools::is_tool(&t.item)) => out
                .send("toolProgress", |m| {
                    (m.tool_id, m.output) = (Some(id), text.as_deref());
                    m.progress = ratio.map(|r| r.clamp(0.0, 1.0));
                }),
            Delta::Set { patch } => self.show_plan(patch, out),
            Delta::Progress { .. } => {}
        }
    }

    fn completed(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Some(id) = out.tool() else { return };
        let Some(tracked) = self.track.finish(id) else { return };
        if let Some(channel) = channel(item) {
            let rest = tracked.rest(text_of(item, tracked.field));
            // Thoughts that are kept secret are nothing to show.
            if tracked.sent > 0 || !rest.is_empty() || matches!(item.details, Details::AgentMessage(_)) {
                out.text(rest, true, channel);
            }
            return;
        }
        match &item.details {
            Details::UserMessage(message) => {
                let text = message.joined();
                // The prompt was said when the turn started.
                if self.prompt.as_ref() != Some(&text) {
                    out.text(&text, true, Some("user"));
                }
            }
            Details::FileChange(change) => {
                if item.status == Status::Completed {
                    let named = change.changes.iter().filter(|change| !change.path.is_empty());
                    named.for_each(|change| file_changed(change, out));
                }
                if !tools::is_tool(&tracked.item) && item.status != Status::Completed {
                    start_tool(item, out);
                    end_tool(item, out);
                }
            }
            _ => self.show_plan(item, out),
        }
        if tools::is_tool(&tracked.item) {
            end_tool(item, out);
        }
    }

    fn show_plan(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Details::Plan(plan) = &item.details else { return };
        if !plan::holds(item) {
            return;
        }
        let text = plan::text(plan);
        if !text.is_empty() && text != self.plan {
            out.text(&text, true, Some("plan"));
            self.plan = text;
        }
    }
}

fn start_tool(item: &Item, out: &mut Sink<'_>) {
    let arguments = tools::arguments(item);
    let tool_id = out.tool();
    out.send("toolStarted", |m| {
        (m.tool_id, m.tool_name, m.arguments) = (tool_id, Some(tools::name(item)), Some(&*arguments));
    });
}

fn end_tool(item: &Item, out: &mut Sink<'_>) {
    let error = tools::error(item);
    let tool_id = out.tool();
    if !tools::ran(item) {
        return out.send("toolFailed", |m| (m.tool_id, m.error) = (tool_id, error.as_deref()));
    }
    let result = tools::result(item);
    out.send("toolCompleted", |m| {
        (m.tool_id, m.success) = (tool_id, Some(tools::succeeded(item)));
        (m.result, m.error, m.duration_ms) = (result.as_deref(), error.as_deref(), item.duration_ms);
    });
}

fn file_changed(change: &Change, out: &mut Sink<'_>) {
    let filled = |text: &'_ str| !text.is_empty();
    if let (ChangeKind::Move, Some(to)) = (change.kind, &change.to) {
        out.send("fileChanged", |m| (m.file_path, m.change_type) = (Some(change.path.as_str()), Some("deleted")));
        return out.send("fileChanged", |m| {
            (m.file_path, m.change_type) = (Some(to.as_str()), Some("created"));
            m.diff = Some(change.diff.as_str()).filter(|d| filled(d));
            (m.before, m.after) = (change.before.as_deref(), change.after.as_deref());
        });
    }
    out.send("fileChanged", |m| {
        (m.file_path, m.change_type) = (Some(change.path.as_str()), Some(change_type(change.kind)));
        m.diff = Some(change.diff.as_str()).filter(|d| filled(d));
        (m.before, m.after) = (change.before.as_deref(), change.after.as_deref());
    });
}
