//! Projects events to output events. Text is sent once: the joined `agent_token`s are the answer. Each tool starts and
//! ends once, each turn is counted once, and a run ends with `session_end`.

use std::{
    borrow::Cow,
    collections::{BTreeSet, VecDeque},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{
    Delta, Details, EndReason, Event, EventBody, Field, Id, Item, Notice, SessionEnded, Status, Topic, TurnCompleted,
    to_raw_json, to_raw_string,
};

use super::{GatewayChangedFile, GatewayOutputEvent, GatewayTokens, ToolStage};
use crate::{
    MessageBuffer, Projection, tools,
    track::{self, ItemTracker, SubagentLabels, TrackedItem, TurnUsage, item_text},
};

/// Maximum number of open hooks. A hook that never ends must not be remembered forever.
const MAX_OPEN_HOOKS: usize = 64;

/// Limits of the buffer: an agent may write to standard error for days.
const MAX_HELD_LINES: usize = 1_000;

const MAX_HELD_BYTES: usize = 256 << 10;

/// Projects events to gateway output events.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct GatewayProjection {
    track: ItemTracker,
    /// Tools that have started and not ended.
    calls: BTreeSet<Id>,
    subagents: SubagentLabels,
    hooks: OpenHooks,
    stderr: StderrTail,
    usage: TurnUsage,
    /// The agent reported usage in this turn. Without a report there is no `usage` message.
    counted: bool,
    cumulative: Option<GatewayTokens>,
    /// How many bytes of answer text the turn has produced, without those that were taken back.
    answered_bytes: usize,
}

impl Projection for GatewayProjection {
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer) {
        self.track.observe_event(event);
        self.usage.add_event(event);
        match &event.body {
            EventBody::TurnStarted(_) => self.answered_bytes = 0,
            EventBody::TurnCompleted(turn) => self.turn_completed(turn, out),
            EventBody::SessionEnded(ended) => self.session_ended(ended, out),
            EventBody::Usage(usage) => {
                self.counted = true;
                if usage.cumulative {
                    self.cumulative = Some(GatewayTokens::from(&**usage));
                }
            }
            EventBody::Notice(notice) => self.push_notice(notice, event, out),
            EventBody::ItemStarted(item) => self.item_started(item, event, out),
            EventBody::ItemDelta(Delta::Append { field, text, .. }) => self.append_text(*field, text, event, out),
            EventBody::ItemDelta(Delta::Set { patch }) => self.start_tool(patch, event, out),
            EventBody::ItemCompleted(item) => self.item_completed(item, event, out),
            EventBody::SessionStarted(_)
            | EventBody::SessionUpdated(_)
            | EventBody::ItemDelta(Delta::Progress { .. })
            | EventBody::RequestOpened(_)
            | EventBody::RequestResolved(_) => {}
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Returns whether a subagent caused the event; such events are never part of the answer.
fn is_from_subagent(event: &Event) -> bool {
    event.thread.is_some() || event.parent.is_some()
}

impl GatewayProjection {
    fn item_started(&mut self, item: &Item, event: &Event, out: &mut MessageBuffer) {
        let text = item_text(item, None);
        if !text.is_empty() {
            self.append_text(Field::Text, text, event, out);
        }
        self.start_tool(item, event, out);
    }

    /// Appends text. Subagent text is sent when complete, because deltas of several subagents would interleave.
    fn append_text(&mut self, field: Field, text: &str, event: &Event, out: &mut MessageBuffer) {
        let Some(id) = &event.item else { return };
        if is_from_subagent(event) {
            return;
        }
        let Some(grown) = self.track.append_text(id, field, text) else { return };
        let answer = match grown.item.details {
            Details::AgentMessage(_) => true,
            Details::Reasoning(_) => false,
            _ => return,
        };
        if grown.shown {
            self.push_text(answer, text, out);
        }
    }

    fn push_text(&mut self, answer: bool, text: &str, out: &mut MessageBuffer) {
        if text.is_empty() {
            return;
        }
        if answer {
            self.answered_bytes += text.len();
            out.push(&GatewayOutputEvent::AgentToken { text, retracted: None });
        } else {
            out.push(&GatewayOutputEvent::Thinking { text, retracted: None, parent: None });
        }
    }

    /// Starts a tool as soon as the item is known to be one.
    fn start_tool(&mut self, item: &Item, event: &Event, out: &mut MessageBuffer) {
        let Some(id) = &event.item else { return };
        // The protocol has no plan message, so a plan is shown as a tool call.
        if !tools::is_work(item) && !matches!(item.details, Details::Plan(_)) {
            return;
        }
        if self.calls.insert(id.clone()) {
            out.push(&GatewayOutputEvent::ToolCall {
                id,
                name: tools::tool_name(item),
                status: ToolStage::Started,
                detail: item.call.as_ref().and_then(|call| call.title.as_deref()),
                input: Some(&*tools::tool_arguments(item)),
                parent: event.parent.as_deref(),
            });
        }
        if let Details::Subagent(subagent) = &item.details
            && self.subagents.record_subagent(id, subagent)
        {
            let label = track::subagent_label(subagent);
            out.push(&GatewayOutputEvent::Subagent { id, status: ToolStage::Started, label, text: None });
        }
    }

    fn item_completed(&mut self, item: &Item, event: &Event, out: &mut MessageBuffer) {
        let Some(id) = &event.item else { return };
        let Some(tracked) = self.track.finish_item(id) else { return };
        match &item.details {
            Details::AgentMessage(_) | Details::Reasoning(_) => self.finish_text(item, &tracked, event, out),
            _ => {
                self.start_tool(item, event, out);
                if self.calls.remove(id) {
                    end_tool(id, item, event, out);
                }
            }
        }
        // The item may have ended as another type than it started; drop its state either way.
        self.calls.remove(id);
    }

    fn finish_text(&mut self, item: &Item, tracked: &TrackedItem, event: &Event, out: &mut MessageBuffer) {
        let answer = matches!(item.details, Details::AgentMessage(_));
        let whole = item_text(item, tracked.field);
        if item.status == Status::Superseded {
            return self.retract_text(answer, tracked.sent_text(whole), out);
        }
        let rest = tracked.unsent_text(whole);
        if rest.is_empty() {
            return;
        }
        if !is_from_subagent(event) {
            return self.push_text(answer, rest, out);
        }
        let (id, label) = self.subagents.subagent_of(event);
        if answer {
            out.push(&GatewayOutputEvent::Subagent { id, status: ToolStage::Running, label, text: Some(rest) });
        } else {
            out.push(&GatewayOutputEvent::Thinking { text: rest, retracted: None, parent: Some(id) });
        }
    }

    /// Reports that the text of a message, as far as it was sent, was taken back.
    fn retract_text(&mut self, answer: bool, text: &str, out: &mut MessageBuffer) {
        if text.is_empty() {
            return;
        }
        let retracted = Some(text);
        if answer {
            self.answered_bytes = self.answered_bytes.saturating_sub(text.len());
            out.push(&GatewayOutputEvent::AgentToken { text: "", retracted });
        } else {
            out.push(&GatewayOutputEvent::Thinking { text: "", retracted, parent: None });
        }
    }

    fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut MessageBuffer) {
        if let Some(answer) = turn.result.as_deref().filter(|_| self.answered_bytes == 0) {
            self.push_text(true, answer, out);
        }
        self.answered_bytes = 0;
        self.push_usage(out);
    }

    fn push_usage(&mut self, out: &mut MessageBuffer) {
        if std::mem::take(&mut self.counted) {
            out.push(&GatewayOutputEvent::from_usage(&self.usage.take(), self.cumulative.take()));
        }
    }

    fn session_ended(&mut self, ended: &SessionEnded, out: &mut MessageBuffer) {
        // Usage reported after the last turn still counts.
        self.push_usage(out);
        let exit_code = exit_code(ended);
        let stderr = self.stderr.take();
        if exit_code != 0 {
            stderr.iter().for_each(|line| out.push(&GatewayOutputEvent::Stderr { line }));
        }
        if matches!(ended.reason, EndReason::Failed | EndReason::Timeout) {
            let message = ended.error.as_ref().map_or("the session failed", |error| error.message.as_str());
            out.push(&GatewayOutputEvent::Error { message });
        }
        out.push(&GatewayOutputEvent::SessionEnd { exit_code, duration_ms: ended.duration_ms });
    }

    fn push_notice(&mut self, notice: &Notice, event: &Event, out: &mut MessageBuffer) {
        let line = notice.text.as_deref().unwrap_or_default();
        match notice.topic {
            Topic::Stdout => out.push(&GatewayOutputEvent::Stdout { line }),
            Topic::Stderr => self.stderr.push(line),
            Topic::Hook => {
                let name = notice.name.as_deref().unwrap_or("hook");
                if !is_lifecycle(name) {
                    let id = self.hooks.run_id(notice, event);
                    let status = notice.status.as_deref().unwrap_or("completed");
                    out.push(&GatewayOutputEvent::Hook { id: &id, name, status });
                }
            }
            _ => {}
        }
    }
}

/// Returns the exit code of the process if known; never zero if the session did not complete.
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

fn end_tool(id: &Id, item: &Item, event: &Event, out: &mut MessageBuffer) {
    let success = tools::has_succeeded(item);
    let error = tools::tool_error(item).filter(|_| !success);
    if let Details::Subagent(subagent) = &item.details {
        let label = track::subagent_label(subagent);
        out.push(&GatewayOutputEvent::Subagent { id, status: ToolStage::from_success(success), label, text: None });
    }
    out.push(&GatewayOutputEvent::ToolCall {
        id,
        name: tools::tool_name(item),
        status: ToolStage::from_success(success),
        detail: error.as_deref(),
        input: None,
        parent: event.parent.as_deref(),
    });
    let output = tool_output(item).unwrap_or_else(|| Cow::Owned(to_raw_string(error.as_deref().unwrap_or_default())));
    out.push(&GatewayOutputEvent::ToolResult { tool_call_id: id, output: &output, is_error: !success });
}

/// Returns the tool output. A tool that never ran only has an output if an error was reported.
fn tool_output(item: &Item) -> Option<Cow<'_, RawValue>> {
    let given = match &item.details {
        Details::Command(command) => Some(Cow::Owned(to_raw_string(&command.output))),
        Details::FileChange(change) if change.output.is_none() => Some(Cow::Owned(changed_files(&change.changes))),
        Details::Plan(plan) if plan.output.is_none() => Some(Cow::Owned(to_raw_string(&tools::plan_text(plan)))),
        _ => tools::tool_result(item),
    };
    let given = given.filter(|output| !matches!(output.get(), "null" | "\"\"" | "[]"));
    let why = || tools::reported_error(item).map(|error| Cow::Owned(to_raw_string(error)));
    match &item.details {
        _ if tools::has_run(item) => given.or_else(why).or_else(|| Some(Cow::Owned(to_raw_string("")))),
        // Changes that were not applied are not output.
        Details::FileChange(change) if change.output.is_none() => why(),
        _ => given.or_else(why),
    }
}

fn changed_files(changes: &[switchboard_event::Change]) -> Box<RawValue> {
    let files = changes.iter().map(|change| GatewayChangedFile {
        path: &change.path,
        kind: change.kind,
        to: change.to.as_deref(),
        diff: &change.diff,
    });
    to_raw_json(&files.collect::<Vec<_>>())
}

/// The open hooks by name, with their assigned ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct OpenHooks {
    open: VecDeque<(String, String)>,
}

impl OpenHooks {
    /// Returns the id of this hook run: its own, that of its start, or the event's.
    fn run_id(&mut self, notice: &Notice, event: &Event) -> String {
        if let Some(id) = own_id(notice) {
            return id;
        }
        let name = notice.name.as_deref().unwrap_or_default();
        if notice.status.as_deref() == Some("started") {
            let id = event.id().to_string();
            self.open.push_back((name.to_owned(), id.clone()));
            if self.open.len() > MAX_OPEN_HOOKS {
                self.open.pop_front();
            }
            return id;
        }
        let begun = self.open.iter().position(|(open, _)| open == name).and_then(|at| self.open.remove(at));
        begun.map_or_else(|| event.id().to_string(), |(_, id)| id)
    }
}

fn own_id(notice: &Notice) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct HookDetail {
        id: String,
    }
    serde_json::from_str::<HookDetail>(notice.detail.as_ref()?.get()).ok().map(|detail| detail.id)
}

/// Returns whether a hook belongs to the session lifecycle, which only concerns the agent's host. The name may have a
/// suffix after a colon.
fn is_lifecycle(name: &str) -> bool {
    let event = name.split(':').next().unwrap_or_default();
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    ["sessionstart", "stop", "notification"].contains(&letters(event).as_str())
}

/// The last lines of standard error.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct StderrTail {
    lines: VecDeque<String>,
    bytes: usize,
}

impl StderrTail {
    /// Appends a line and drops the oldest lines above the limits. An oversized line keeps only its end.
    pub fn push(&mut self, line: &str) {
        let line = line_tail(line);
        self.bytes += line.len();
        self.lines.push_back(line.to_owned());
        while self.lines.len() > MAX_HELD_LINES || self.bytes > MAX_HELD_BYTES {
            self.bytes -= self.lines.pop_front().map_or(0, |line| line.len());
        }
    }

    /// Removes and returns all lines.
    pub fn take(&mut self) -> VecDeque<String> {
        self.bytes = 0;
        std::mem::take(&mut self.lines)
    }
}

fn line_tail(line: &str) -> &str {
    let cut = line.len().saturating_sub(MAX_HELD_BYTES);
    let cut = (cut..line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line.get(cut..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{MAX_HELD_BYTES, MAX_HELD_LINES, StderrTail, is_lifecycle};

    #[test]
    fn three_hooks_are_lifecycle() {
        for (name, expected) in [
            ("SessionStart", true),
            ("SessionStart:startup", true),
            ("session_start", true),
            ("Stop", true),
            ("Notification", true),
            ("SubagentStop", false),
            ("PreToolUse:Stop", false),
            ("PreCommit", false),
            ("", false),
        ] {
            assert_eq!(is_lifecycle(name), expected, "{name}");
        }
    }

    #[test]
    fn the_last_lines_are_kept() {
        let mut held = StderrTail::default();
        (0..MAX_HELD_LINES + 5).for_each(|n| held.push(&n.to_string()));
        let lines = held.take();
        assert_eq!(lines.len(), MAX_HELD_LINES);
        assert_eq!(lines.front().map(String::as_str), Some("5"));
        assert!(held.take().is_empty());
    }

    #[test]
    fn a_huge_line_is_cut_between_characters() {
        let mut held = StderrTail::default();
        held.push("short");
        held.push(&"é".repeat(MAX_HELD_BYTES));
        held.push("x");
        let lines = held.take();
        assert!(lines.iter().map(String::len).sum::<usize>() <= MAX_HELD_BYTES);
        assert_eq!(lines.back().map(String::as_str), Some("x"));
    }
}
