//! Events to session events. The answer comes as one `log` a finished line; each `action` has one `toolResult`;
//! `error` and `cancelled` end a run and come nowhere else.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use switchboard_event::{
    Body, Command, Delta, Details, EndReason, Event, Field, Id, Item, Level, Notice, Origin, RequestOpened,
    SessionEnded, Status, Topic, TurnCompleted, TurnStarted, TurnStatus, UserMessage,
};

use super::{
    lines::Lines,
    wire::{Action, Cancelled, Diff, Error, Log, MessageId, Payload, Plan, SessionEvent, ToolResult},
};
use crate::{
    Messages, Projection, output, plan, tools,
    track::{Track, text_of},
};

/// The projection.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Board {
    track: Track,
    lines: Lines,
    /// The tools that have begun and not ended.
    actions: BTreeSet<Id>,
    prompt: Prompt,
    /// The plan as it was last shown: one that did not change is not shown again.
    plan: String,
    /// The turn has given text of the answer.
    said: bool,
}

/// What began the turn. It is not shown: a board has it from the session.
#[derive(Clone, Default, Serialize, Deserialize)]
enum Prompt {
    Known(String),
    /// The first thing that the user says is it.
    Awaited,
    #[default]
    None,
}

impl Projection for Board {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        self.track.see(event);
        let mut out = Sink { event, out, part: 0 };
        match &event.body {
            Body::SessionEnded(ended) => session_ended(ended, &mut out),
            Body::TurnStarted(turn) => self.turn_started(turn),
            Body::TurnCompleted(turn) => self.turn_completed(turn, &mut out),
            Body::ItemStarted(item) => self.started(item, &mut out),
            Body::ItemDelta(Delta::Append { field, text, .. }) => self.grew(*field, text, &mut out),
            Body::ItemDelta(Delta::Set { patch }) => self.begin(patch, &mut out),
            Body::ItemCompleted(item) => self.completed(item, &mut out),
            Body::RequestOpened(request) => asked(request, &mut out),
            Body::Notice(notice) => noticed(notice, &mut out),
            Body::SessionStarted(_)
            | Body::SessionUpdated(_)
            | Body::ItemDelta(Delta::Progress { .. })
            | Body::RequestResolved(_)
            | Body::Usage(_) => {}
        }
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
    part: u64,
}

impl<'a> Sink<'a> {
    fn send<P: Payload>(&mut self, payload: P) {
        self.out.push(&SessionEvent {
            id: MessageId { event: self.event, part: self.part },
            session_id: &self.event.session,
            kind: P::TYPE,
            payload,
            timestamp: self.event.at,
        });
        self.part += 1;
    }

    fn log(&mut self, line: &str, channel: Option<&'static str>, level: Option<Level>) {
        let parent = self.event.parent.as_deref();
        self.send(Log { line, channel, level, request: None, parent });
    }

    fn log_lines(&mut self, text: &str, channel: &'static str, level: Option<Level>) {
        text.trim_end_matches('\n').split('\n').for_each(|line| self.log(line, Some(channel), level));
    }

    fn item(&self) -> Option<&'a Id> {
        self.event.item.as_ref()
    }

    fn is_subagents(&self) -> bool {
        self.event.thread.is_some() || self.event.parent.is_some()
    }

    /// The channel of what an agent says: the answer has none.
    fn channel(&self) -> Option<&'static str> {
        self.is_subagents().then_some("subagent")
    }
}

impl Board {
    fn turn_started(&mut self, turn: &TurnStarted) {
        self.said = false;
        self.prompt = match (&turn.prompt, turn.origin) {
            (Some(prompt), _) => Prompt::Known(prompt.clone()),
            (None, Origin::Prompt) => Prompt::Awaited,
            (None, _) => Prompt::None,
        };
    }

    fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut Sink<'_>) {
        if let (false, Some(answer)) = (self.said, &turn.result) {
            answer.trim_end_matches('\n').split('\n').for_each(|line| out.log(line, None, None));
        }
        self.prompt = Prompt::None;
        // Whether the session goes on is not known yet, so this is not its `error`.
        let error = turn.error.as_ref().map(|error| error.message.as_str());
        match turn.status {
            TurnStatus::Completed => {}
            TurnStatus::Failed => out.log_lines(error.unwrap_or("the turn failed"), "notice", Some(Level::Error)),
            TurnStatus::Interrupted => {
                out.log_lines(error.unwrap_or("the turn was interrupted"), "notice", Some(Level::Warning));
            }
        }
    }

    fn started(&mut self, item: &Item, out: &mut Sink<'_>) {
        if matches!(item.details, Details::AgentMessage(_)) {
            self.grew(Field::Text, text_of(item, None), out);
        }
        self.begin(item, out);
    }

    fn grew(&mut self, field: Field, text: &str, out: &mut Sink<'_>) {
        let Some(id) = out.item() else { return };
        let Some(grown) = self.track.grew(id, field, text) else { return };
        if matches!(grown.item.details, Details::AgentMessage(_)) && grown.shown {
            self.say(id, text, out);
        }
    }

    fn say(&mut self, id: &Id, text: &str, out: &mut Sink<'_>) {
        let channel = out.channel();
        self.said |= channel.is_none() && !text.is_empty();
        self.lines.push(id, text, |line| out.log(line, channel, None));
    }

    /// Begins a tool as soon as the item is known to be one, and shows a plan.
    fn begin(&mut self, item: &Item, out: &mut Sink<'_>) {
        if let Details::Plan(plan) = &item.details
            && plan::holds(item)
        {
            self.show_plan(plan::text(plan), out);
        }
        if tools::is_tool(item) {
            self.act(item, out);
        }
    }

    fn act(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Some(id) = out.item() else { return };
        if self.actions.insert(id.clone()) {
            let (tool, args) = (tools::name(item), tools::arguments(item));
            out.send(Action { tool, args: &args, tool_id: id, parent: out.event.parent.as_deref() });
        }
    }

    fn show_plan(&mut self, text: String, out: &mut Sink<'_>) {
        if !text.is_empty() && text != self.plan {
            out.send(Plan { message: &text, channel: out.channel(), parent: out.event.parent.as_deref() });
            self.plan = text;
        }
    }

    fn completed(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Some(id) = out.item() else { return };
        let Some(tracked) = self.track.finish(id) else { return };
        match &item.details {
            Details::AgentMessage(message) => {
                if item.status != Status::Superseded {
                    self.say(id, tracked.rest(&message.text), out);
                }
                let channel = out.channel();
                self.lines.finish(id, |line| out.log(line, channel, None));
            }
            Details::Reasoning(_) => {
                let message = text_of(item, None);
                if !message.is_empty() {
                    let channel = out.channel().or(Some("reasoning"));
                    out.send(Plan { message, channel, parent: out.event.parent.as_deref() });
                }
            }
            Details::UserMessage(message) => self.user_said(message, out),
            _ => self.end(item, id, out),
        }
        // An item that ended as something else than it began leaves nothing behind.
        self.actions.remove(id);
        self.lines.finish(id, |_| {});
    }

    /// Ends a tool. A change of files that was made without a tool's name is shown by its diffs alone.
    fn end(&mut self, item: &Item, id: &Id, out: &mut Sink<'_>) {
        self.begin(item, out);
        if let Details::FileChange(change) = &item.details {
            if item.status == Status::Completed {
                change.changes.iter().for_each(|change| {
                    out.send(Diff {
                        file: &change.path,
                        diff: &change.diff,
                        change: change.kind,
                        to: change.to.as_deref(),
                        tool_id: id,
                        parent: out.event.parent.as_deref(),
                    });
                });
            } else {
                self.act(item, out);
            }
        }
        if self.actions.remove(id) {
            tool_result(item, id, out);
        }
    }

    fn user_said(&mut self, message: &UserMessage, out: &mut Sink<'_>) {
        // What a subagent was told stands in the action that began it.
        if out.is_subagents() {
            return;
        }
        let text = message.joined();
        let is_prompt = match &self.prompt {
            Prompt::Known(prompt) => *prompt == text,
            Prompt::Awaited => !message.queued && !message.synthetic,
            Prompt::None => out.event.turn.is_none() && !message.queued && !message.synthetic,
        };
        if is_prompt {
            self.prompt = Prompt::None;
        } else {
            out.log_lines(&text, "user", None);
        }
    }
}

fn tool_result(item: &Item, id: &Id, out: &mut Sink<'_>) {
    let exit_code = match &item.details {
        Details::Command(Command { exit_code, .. }) => *exit_code,
        _ => None,
    };
    out.send(ToolResult {
        tool: tools::name(item),
        success: tools::succeeded(item),
        output: &output::text_or_why(item),
        tool_id: id,
        exit_code,
        duration_ms: item.duration_ms,
        parent: out.event.parent.as_deref(),
    });
}

fn session_ended(ended: &SessionEnded, out: &mut Sink<'_>) {
    let error = ended.error.as_ref();
    let message = error.map(|error| error.message.as_str());
    match ended.reason {
        EndReason::Completed => {}
        EndReason::Failed | EndReason::Timeout => out.send(Error {
            message: message.unwrap_or("the session failed"),
            error_type: error.map(|error| error.code.kind()),
        }),
        EndReason::Cancelled => out.send(Cancelled { reason: message }),
    }
}

fn asked(request: &RequestOpened, out: &mut Sink<'_>) {
    let said = [Some(request.title.as_str()), request.reason.as_deref(), request.command.as_deref()];
    let first_lines = said.into_iter().flatten().filter_map(|text| text.lines().next());
    let line = first_lines.into_iter().find(|line| !line.is_empty()).unwrap_or("the agent waits for an answer");
    let (id, parent) = (Some(&*request.request), out.event.parent.as_deref());
    out.send(Log { line, channel: Some("request"), level: None, request: id, parent });
}

/// What went wrong and did not end the session, and lines that are no records. Other notices are not for a board.
fn noticed(notice: &Notice, out: &mut Sink<'_>) {
    let error = notice.error.as_ref().map(|error| error.message.as_str());
    let Some(text) = notice.text.as_deref().or(error).filter(|text| !text.is_empty()) else { return };
    match (notice.topic, notice.level) {
        (Topic::Stdout, _) => out.log_lines(text, "stdout", None),
        (Topic::Stderr, _) => out.log_lines(text, "stderr", None),
        (Topic::Warning | Topic::Retry, level) | (_, level @ (Level::Warning | Level::Error)) => {
            out.log_lines(text, "notice", Some(level));
        }
        (_, level) if error.is_some() => out.log_lines(text, "notice", Some(level)),
        _ => {}
    }
}
