//! Projects events to unified events. Text is sent once: a chunk is always new text, and the last chunk of a message is
//! marked even if it is empty.

use serde::{Deserialize, Serialize};
use switchboard_event::{
    Change, ChangeKind, Delta, Details, Event, EventBody, Fault, Field, Item, Level, Notice, SessionEnded, Status,
    Timestamp, Topic, TurnCompleted, TurnStatus,
};

use super::{SessionJson, TextChunk, UnifiedEvent, UnifiedTokenUsage, write_text_chunk};
use crate::{
    MessageBuffer, Projection, tools,
    track::{ItemTracker, TurnUsage, item_text},
};

/// Projects events to unified events.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct UnifiedProjection {
    track: ItemTracker,
    usage: TurnUsage,
    turn_began: Timestamp,
    prompt: Option<String>,
    /// The last plan shown; an unchanged plan is not shown again.
    plan: String,
    /// Rebuilt on demand.
    #[serde(skip)]
    session: SessionJson,
}

impl Projection for UnifiedProjection {
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer) {
        self.track.observe_event(event);
        self.usage.add_event(event);
        let mut session = std::mem::take(&mut self.session);
        let mut out = UnifiedSink { event, out, part: 0, session: &mut session };
        match &event.body {
            EventBody::SessionStarted(started) => out.send("sessionStarted", |m| {
                // A session on another server has the agent type of that server.
                m.agent_type = Some(started.config.agent_type.as_deref().unwrap_or(&event.agent));
                m.config = Some(&started.config);
            }),
            EventBody::SessionEnded(ended) => send_session_end(ended, &mut out),
            EventBody::TurnStarted(turn) => {
                (self.turn_began, self.prompt) = (event.at, turn.prompt.clone());
                let prompt = Some(turn.prompt.as_deref().unwrap_or_default());
                out.send("turnStarted", |m| (m.turn_number, m.prompt) = (event.turn, prompt));
            }
            EventBody::TurnCompleted(turn) => self.turn_completed(turn, &mut out),
            EventBody::ItemStarted(item) => self.item_started(item, &mut out),
            EventBody::ItemDelta(delta) => self.item_delta(delta, &mut out),
            EventBody::ItemCompleted(item) => self.item_completed(item, &mut out),
            EventBody::Notice(notice) => send_notice(notice, &mut out),
            EventBody::SessionUpdated(_)
            | EventBody::RequestOpened(_)
            | EventBody::RequestResolved(_)
            | EventBody::Usage(_) => {}
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

/// Collects the messages of one event.
struct UnifiedSink<'a> {
    event: &'a Event,
    out: &'a mut MessageBuffer,
    part: u32,
    session: &'a mut SessionJson,
}

impl<'a> UnifiedSink<'a> {
    fn send<'m>(&mut self, kind: &'static str, fill: impl FnOnce(&mut UnifiedEvent<'m>))
    where
        'a: 'm,
    {
        let mut message = UnifiedEvent::new(self.event, self.part, kind);
        fill(&mut message);
        self.out.push(&message);
        self.part += 1;
    }

    fn send_text(&mut self, content: &str, is_complete: bool, channel: Option<&'static str>) {
        if self.part == 0 && self.event.thread.is_none() && self.event.parent.is_none() {
            write_text_chunk(self.event, &TextChunk { content, is_complete, channel }, self.session, self.out);
            self.part += 1;
            return;
        }
        let channel = self.channel_of_thread(channel);
        self.send("textChunk", |m| (m.content, m.is_complete, m.channel) = (Some(content), Some(is_complete), channel));
    }

    /// Ends a message whose text was taken back.
    fn send_retraction(&mut self, retracted: &str, channel: Option<&'static str>) {
        let channel = self.channel_of_thread(channel);
        self.send("textChunk", |m| {
            (m.content, m.is_complete, m.channel) = (Some(""), Some(true), channel);
            m.retracted = Some(retracted);
        });
    }

    /// Returns the channel of a text; that of a subagent is not told apart further.
    fn channel_of_thread(&self, channel: Option<&'static str>) -> Option<&'static str> {
        if self.event.thread.is_some() { Some("subagent") } else { channel }
    }

    fn item_id(&self) -> Option<&'a str> {
        self.event.item.as_deref()
    }
}

fn send_session_end(ended: &SessionEnded, out: &mut UnifiedSink<'_>) {
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

/// Sends errors that did not end the session. Other notices have no counterpart in this protocol.
fn send_notice(notice: &Notice, out: &mut UnifiedSink<'_>) {
    let text = notice.text.as_deref();
    match (&notice.error, notice.topic, notice.level) {
        (Some(fault), ..) => out.send("error", |m| {
            m.message = Some(&fault.message);
            m.error_type = Some(fault.code.kind());
        }),
        (None, Topic::Stdout | Topic::Stderr, _) => out.send_text(text.unwrap_or_default(), true, Some("log")),
        (None, _, Level::Error) => {
            let fault = Fault::new(switchboard_event::ErrorCode::Unknown, text.unwrap_or("something went wrong"));
            out.send("error", |m| (m.message, m.error_type) = (Some(fault.message.as_str()), Some(fault.code.kind())));
        }
        _ => {}
    }
}

/// Returns the channel of a text item: none for the answer.
fn text_channel(item: &Item) -> Option<Option<&'static str>> {
    match &item.details {
        Details::AgentMessage(_) => Some(None),
        Details::Reasoning(_) => Some(Some("reasoning")),
        _ => None,
    }
}

/// Returns the protocol's name for a change.
fn change_type(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Add => "created",
        ChangeKind::Modify | ChangeKind::Move => "modified",
        ChangeKind::Delete => "deleted",
    }
}

impl UnifiedProjection {
    fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut UnifiedSink<'_>) {
        let usage = UnifiedTokenUsage::from(self.usage.take());
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

    fn item_started(&mut self, item: &Item, out: &mut UnifiedSink<'_>) {
        if tools::is_tool(item) {
            start_tool(item, out);
        }
        if let (Some(channel), Some(id)) = (text_channel(item), out.item_id()) {
            let text = item_text(item, None);
            if !text.is_empty() && self.track.append_text(id, Field::Text, text).is_some() {
                out.send_text(text, false, channel);
            }
        }
        self.show_plan(item, out);
    }

    fn item_delta(&mut self, delta: &Delta, out: &mut UnifiedSink<'_>) {
        let Some(id) = out.item_id() else { return };
        match delta {
            Delta::Append { field, text, .. } => {
                let Some(grown) = self.track.append_text(id, *field, text) else { return };
                match text_channel(grown.item) {
                    Some(channel) if grown.shown => out.send_text(text, false, channel),
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

    fn item_completed(&mut self, item: &Item, out: &mut UnifiedSink<'_>) {
        let Some(id) = out.item_id() else { return };
        let Some(tracked) = self.track.finish_item(id) else { return };
        if let Some(channel) = text_channel(item) {
            if item.status == Status::Superseded {
                match tracked.sent_text(item_text(item, tracked.field)) {
                    "" if tracked.sent == 0 => {}
                    "" => out.send_text("", true, channel),
                    retracted => out.send_retraction(retracted, channel),
                }
                return;
            }
            let rest = tracked.unsent_text(item_text(item, tracked.field));
            // Redacted reasoning has nothing to show.
            if tracked.sent > 0 || !rest.is_empty() || matches!(item.details, Details::AgentMessage(_)) {
                out.send_text(rest, true, channel);
            }
            return;
        }
        match &item.details {
            Details::UserMessage(message) => {
                let text = message.joined_text();
                // The prompt was already sent when the turn started.
                if self.prompt.as_ref() != Some(&text) {
                    out.send_text(&text, true, Some("user"));
                }
            }
            Details::FileChange(change) => {
                if item.status == Status::Completed {
                    let named = change.changes.iter().filter(|change| !change.path.is_empty());
                    named.for_each(|change| send_file_change(change, out));
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

    fn show_plan(&mut self, item: &Item, out: &mut UnifiedSink<'_>) {
        let Details::Plan(plan) = &item.details else { return };
        if !tools::is_plan_in_effect(item) {
            return;
        }
        let text = tools::plan_text(plan);
        if !text.is_empty() && text != self.plan {
            out.send_text(&text, true, Some("plan"));
            self.plan = text;
        }
    }
}

fn start_tool(item: &Item, out: &mut UnifiedSink<'_>) {
    let arguments = tools::tool_arguments(item);
    let tool_id = out.item_id();
    out.send("toolStarted", |m| {
        (m.tool_id, m.tool_name, m.arguments) = (tool_id, Some(tools::tool_name(item)), Some(&*arguments));
    });
}

fn end_tool(item: &Item, out: &mut UnifiedSink<'_>) {
    let error = tools::tool_error(item);
    let tool_id = out.item_id();
    if !tools::has_run(item) {
        return out.send("toolFailed", |m| (m.tool_id, m.error) = (tool_id, error.as_deref()));
    }
    let result = tools::tool_result(item);
    out.send("toolCompleted", |m| {
        (m.tool_id, m.success) = (tool_id, Some(tools::has_succeeded(item)));
        (m.result, m.error, m.duration_ms) = (result.as_deref(), error.as_deref(), item.duration_ms);
    });
}

fn send_file_change(change: &Change, out: &mut UnifiedSink<'_>) {
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
