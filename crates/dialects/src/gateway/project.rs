//! Events to output events. Text is sent once: joined, the `agent_token`s are the answer. Each tool begins once and
//! ends once, each turn is counted once, and a run ends with `session_end`.

use std::{borrow::Cow, collections::BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{
    Body, Delta, Details, EndReason, Event, Field, Id, Item, Notice, SessionEnded, Status, Topic, TurnCompleted, raw,
    raw_string,
};

use super::{
    hooks::{Hooks, is_lifecycle},
    stderr::HeldLines,
    wire::{ChangedFile, OutputEvent, Stage, Tokens},
};
use crate::{
    Messages, Projection, plan,
    subagents::{self, Subagents},
    tools,
    track::{Track, Tracked, TurnUsage, text_of},
};

/// The projection.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Gateway {
    track: Track,
    /// The tools that have begun and not ended.
    calls: BTreeSet<Id>,
    subagents: Subagents,
    hooks: Hooks,
    stderr: HeldLines,
    usage: TurnUsage,
    /// The agent said what the turn used. One that counts nothing has no `usage`.
    counted: bool,
    cumulative: Option<Tokens>,
    /// The turn has given text of the answer.
    said: bool,
}

impl Projection for Gateway {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        self.track.see(event);
        self.usage.see(event);
        match &event.body {
            Body::TurnStarted(_) => self.said = false,
            Body::TurnCompleted(turn) => self.turn_completed(turn, out),
            Body::SessionEnded(ended) => self.session_ended(ended, out),
            Body::Usage(usage) => {
                self.counted = true;
                if usage.cumulative {
                    self.cumulative = Some(Tokens::from(&**usage));
                }
            }
            Body::Notice(notice) => self.notice(notice, event, out),
            Body::ItemStarted(item) => self.started(item, event, out),
            Body::ItemDelta(Delta::Append { field, text, .. }) => self.grew(*field, text, event, out),
            Body::ItemDelta(Delta::Set { patch }) => self.begin(patch, event, out),
            Body::ItemCompleted(item) => self.completed(item, event, out),
            Body::SessionStarted(_)
            | Body::SessionUpdated(_)
            | Body::ItemDelta(Delta::Progress { .. })
            | Body::RequestOpened(_)
            | Body::RequestResolved(_) => {}
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// A subagent's event is never part of the answer.
fn is_subagents(event: &Event) -> bool {
    event.thread.is_some() || event.parent.is_some()
}

impl Gateway {
    fn started(&mut self, item: &Item, event: &Event, out: &mut Messages) {
        let text = text_of(item, None);
        if !text.is_empty() {
            self.grew(Field::Text, text, event, out);
        }
        self.begin(item, event, out);
    }

    /// Text of a subagent waits for its end: pieces of several would run into each other.
    fn grew(&mut self, field: Field, text: &str, event: &Event, out: &mut Messages) {
        let Some(id) = &event.item else { return };
        if is_subagents(event) {
            return;
        }
        let Some(grown) = self.track.grew(id, field, text) else { return };
        let answer = match grown.item.details {
            Details::AgentMessage(_) => true,
            Details::Reasoning(_) => false,
            _ => return,
        };
        if grown.shown {
            self.say(answer, text, out);
        }
    }

    fn say(&mut self, answer: bool, text: &str, out: &mut Messages) {
        if text.is_empty() {
            return;
        }
        if answer {
            self.said = true;
            out.push(&OutputEvent::AgentToken { text });
        } else {
            out.push(&OutputEvent::Thinking { text, parent: None });
        }
    }

    /// Begins a tool, as soon as the item is known to be one.
    fn begin(&mut self, item: &Item, event: &Event, out: &mut Messages) {
        let Some(id) = &event.item else { return };
        // A plan has no kind of its own here, and is shown like the tool that makes one.
        if !tools::is_work(item) && !matches!(item.details, Details::Plan(_)) {
            return;
        }
        if self.calls.insert(id.clone()) {
            out.push(&OutputEvent::ToolCall {
                id,
                name: tools::name(item),
                status: Stage::Started,
                detail: item.call.as_ref().and_then(|call| call.title.as_deref()),
                input: Some(&*tools::arguments(item)),
                parent: event.parent.as_deref(),
            });
        }
        if let Details::Subagent(subagent) = &item.details
            && self.subagents.see(id, subagent)
        {
            let label = subagents::label(subagent);
            out.push(&OutputEvent::Subagent { id, status: Stage::Started, label, text: None });
        }
    }

    fn completed(&mut self, item: &Item, event: &Event, out: &mut Messages) {
        let Some(id) = &event.item else { return };
        let Some(tracked) = self.track.finish(id) else { return };
        match &item.details {
            Details::AgentMessage(_) | Details::Reasoning(_) => self.finish_text(item, &tracked, event, out),
            _ => {
                self.begin(item, event, out);
                if self.calls.remove(id) {
                    end(id, item, event, out);
                }
            }
        }
        // An item that ended as something else than it began leaves nothing behind.
        self.calls.remove(id);
    }

    fn finish_text(&mut self, item: &Item, tracked: &Tracked, event: &Event, out: &mut Messages) {
        let answer = matches!(item.details, Details::AgentMessage(_));
        let rest = tracked.rest(text_of(item, tracked.field));
        if rest.is_empty() || item.status == Status::Superseded {
            return;
        }
        if !is_subagents(event) {
            return self.say(answer, rest, out);
        }
        let (id, label) = self.subagents.of(event);
        if answer {
            out.push(&OutputEvent::Subagent { id, status: Stage::Running, label, text: Some(rest) });
        } else {
            out.push(&OutputEvent::Thinking { text: rest, parent: Some(id) });
        }
    }

    fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut Messages) {
        if let Some(answer) = turn.result.as_deref().filter(|_| !self.said) {
            self.say(true, answer, out);
        }
        self.said = false;
        self.count(out);
    }

    fn count(&mut self, out: &mut Messages) {
        if std::mem::take(&mut self.counted) {
            out.push(&OutputEvent::usage(&self.usage.take(), self.cumulative.take()));
        }
    }

    fn session_ended(&mut self, ended: &SessionEnded, out: &mut Messages) {
        // What came after the last turn was used all the same.
        self.count(out);
        let exit_code = exit_code(ended);
        let stderr = self.stderr.take();
        if exit_code != 0 {
            stderr.iter().for_each(|line| out.push(&OutputEvent::Stderr { line }));
        }
        if matches!(ended.reason, EndReason::Failed | EndReason::Timeout) {
            let message = ended.error.as_ref().map_or("the session failed", |error| error.message.as_str());
            out.push(&OutputEvent::Error { message });
        }
        out.push(&OutputEvent::SessionEnd { exit_code, duration_ms: ended.duration_ms });
    }

    fn notice(&mut self, notice: &Notice, event: &Event, out: &mut Messages) {
        let line = notice.text.as_deref().unwrap_or_default();
        match notice.topic {
            Topic::Stdout => out.push(&OutputEvent::Stdout { line }),
            Topic::Stderr => self.stderr.push(line),
            Topic::Hook => {
                let name = notice.name.as_deref().unwrap_or("hook");
                if !is_lifecycle(name) {
                    let id = self.hooks.id(notice, event);
                    let status = notice.status.as_deref().unwrap_or("completed");
                    out.push(&OutputEvent::Hook { id: &id, name, status });
                }
            }
            _ => {}
        }
    }
}

/// The process's own code if it is known, and never zero for what did not end well.
fn exit_code(ended: &SessionEnded) -> i32 {
    let code = ended.exit_code;
    let failed = code.filter(|code| *code != 0);
    match ended.reason {
        EndReason::Completed => code.unwrap_or(0),
        EndReason::Failed => failed.or(ended.signal.map(|signal| signal.saturating_add(128))).unwrap_or(1),
        EndReason::Cancelled => failed.unwrap_or(130),
        EndReason::Timeout => failed.unwrap_or(124),
    }
}

fn end(id: &Id, item: &Item, event: &Event, out: &mut Messages) {
    let success = tools::succeeded(item);
    let error = tools::error(item).filter(|_| !success);
    if let Details::Subagent(subagent) = &item.details {
        let label = subagents::label(subagent);
        out.push(&OutputEvent::Subagent { id, status: Stage::of(success), label, text: None });
    }
    out.push(&OutputEvent::ToolCall {
        id,
        name: tools::name(item),
        status: Stage::of(success),
        detail: error.as_deref(),
        input: None,
        parent: event.parent.as_deref(),
    });
    let output = output(item).unwrap_or_else(|| Cow::Owned(raw_string(error.as_deref().unwrap_or_default())));
    out.push(&OutputEvent::ToolResult { tool_call_id: id, output: &output, is_error: !success });
}

/// What a tool gave back. One that never ran gave nothing back, unless somebody said why.
fn output(item: &Item) -> Option<Cow<'_, RawValue>> {
    let given = match &item.details {
        Details::Command(command) => Some(Cow::Owned(raw_string(&command.output))),
        Details::FileChange(change) if change.output.is_none() => Some(Cow::Owned(changed_files(&change.changes))),
        Details::Plan(plan) if plan.output.is_none() => Some(Cow::Owned(raw_string(&plan::text(plan)))),
        _ => tools::result(item),
    };
    let given = given.filter(|output| !matches!(output.get(), "null" | "\"\"" | "[]"));
    let why = || tools::said_error(item).map(|error| Cow::Owned(raw_string(error)));
    match &item.details {
        _ if tools::ran(item) => given.or_else(why).or_else(|| Some(Cow::Owned(raw_string("")))),
        // Changes that were not made are no output.
        Details::FileChange(change) if change.output.is_none() => why(),
        _ => given.or_else(why),
    }
}

fn changed_files(changes: &[switchboard_event::Change]) -> Box<RawValue> {
    let files = changes.iter().map(|change| ChangedFile {
        path: &change.path,
        kind: change.kind,
        to: change.to.as_deref(),
        diff: &change.diff,
    });
    raw(&files.collect::<Vec<_>>())
}
