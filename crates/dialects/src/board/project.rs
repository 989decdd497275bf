//! Projects events to session events. The answer is sent as one `log` per finished line; each `action` has exactly one
//! `toolResult`; `error` and `cancelled` only occur at the end of a run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use switchboard_event::{
    Command, Delta, Details, EndReason, Event, EventBody, Field, Id, Item, Level, Notice, Origin, RequestOpened,
    SessionEnded, Status, Topic, TurnCompleted, TurnStarted, TurnStatus, UserMessage,
};

use super::{
    ActionPayload, BoardMessageId, BoardPayload, BoardSessionEvent, CancelledPayload, DiffPayload, ErrorPayload,
    LogPayload, PlanPayload, ToolResultPayload,
};
use crate::{
    MessageBuffer, Projection, tools,
    track::{ItemTracker, item_text},
};

/// Maximum buffered line length. Longer lines are emitted in parts, so that an endless line does not grow the buffer.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Projects events to board session events.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct BoardProjection {
    track: ItemTracker,
    lines: MessageLineBuffer,
    /// Tools that have started and not ended.
    actions: BTreeSet<Id>,
    prompt: ExpectedPrompt,
    /// The last plan shown; an unchanged plan is not shown again.
    plan: String,
    /// The turn has produced answer text.
    said: bool,
}

/// The prompt that started the turn. It is not shown, because a board already has it from the session.
#[derive(Clone, Default, Serialize, Deserialize)]
enum ExpectedPrompt {
    Known(String),
    /// The first user message will be the prompt.
    Awaited,
    #[default]
    None,
}

impl Projection for BoardProjection {
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer) {
        self.track.observe_event(event);
        let mut out = BoardSink { event, out, part: 0 };
        match &event.body {
            EventBody::SessionEnded(ended) => send_session_end(ended, &mut out),
            EventBody::TurnStarted(turn) => self.turn_started(turn),
            EventBody::TurnCompleted(turn) => self.turn_completed(turn, &mut out),
            EventBody::ItemStarted(item) => self.item_started(item, &mut out),
            EventBody::ItemDelta(Delta::Append { field, text, .. }) => self.append_text(*field, text, &mut out),
            EventBody::ItemDelta(Delta::Set { patch }) => self.update_item(patch, &mut out),
            EventBody::ItemCompleted(item) => self.item_completed(item, &mut out),
            EventBody::RequestOpened(request) => send_request(request, &mut out),
            EventBody::Notice(notice) => send_notice(notice, &mut out),
            EventBody::SessionStarted(_)
            | EventBody::SessionUpdated(_)
            | EventBody::ItemDelta(Delta::Progress { .. })
            | EventBody::RequestResolved(_)
            | EventBody::Usage(_) => {}
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Collects the messages of one event.
struct BoardSink<'a> {
    event: &'a Event,
    out: &'a mut MessageBuffer,
    part: u64,
}

impl<'a> BoardSink<'a> {
    fn send_payload<P: BoardPayload>(&mut self, payload: P) {
        self.out.push(&BoardSessionEvent {
            id: BoardMessageId { event: self.event, part: self.part },
            session_id: &self.event.session,
            kind: P::TYPE,
            payload,
            timestamp: self.event.at,
        });
        self.part += 1;
    }

    fn send_log(&mut self, line: &str, channel: Option<&'static str>, level: Option<Level>) {
        let parent = self.event.parent.as_deref();
        self.send_payload(LogPayload { line, channel, level, request: None, parent });
    }

    fn send_log_lines(&mut self, text: &str, channel: &'static str, level: Option<Level>) {
        text.trim_end_matches('\n').split('\n').for_each(|line| self.send_log(line, Some(channel), level));
    }

    fn item_id(&self) -> Option<&'a Id> {
        self.event.item.as_ref()
    }

    fn is_from_subagent(&self) -> bool {
        self.event.thread.is_some() || self.event.parent.is_some()
    }

    /// Returns the channel of agent text; none for the answer.
    fn answer_channel(&self) -> Option<&'static str> {
        self.is_from_subagent().then_some("subagent")
    }
}

impl BoardProjection {
    fn turn_started(&mut self, turn: &TurnStarted) {
        self.said = false;
        self.prompt = match (&turn.prompt, turn.origin) {
            (Some(prompt), _) => ExpectedPrompt::Known(prompt.clone()),
            (None, Origin::Prompt) => ExpectedPrompt::Awaited,
            (None, _) => ExpectedPrompt::None,
        };
    }

    fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut BoardSink<'_>) {
        if let (false, Some(answer)) = (self.said, &turn.result) {
            answer.trim_end_matches('\n').split('\n').for_each(|line| out.send_log(line, None, None));
        }
        self.prompt = ExpectedPrompt::None;
        // The session may continue, so this is not its `error`.
        let error = turn.error.as_ref().map(|error| error.message.as_str());
        match turn.status {
            TurnStatus::Completed => {}
            TurnStatus::Failed => out.send_log_lines(error.unwrap_or("the turn failed"), "notice", Some(Level::Error)),
            TurnStatus::Interrupted => {
                out.send_log_lines(error.unwrap_or("the turn was interrupted"), "notice", Some(Level::Warning));
            }
        }
    }

    fn item_started(&mut self, item: &Item, out: &mut BoardSink<'_>) {
        if matches!(item.details, Details::AgentMessage(_)) {
            self.append_text(Field::Text, item_text(item, None), out);
        }
        self.update_item(item, out);
    }

    fn append_text(&mut self, field: Field, text: &str, out: &mut BoardSink<'_>) {
        let Some(id) = out.item_id() else { return };
        let Some(grown) = self.track.append_text(id, field, text) else { return };
        if matches!(grown.item.details, Details::AgentMessage(_)) && grown.shown {
            self.push_answer_text(id, text, out);
        }
    }

    fn push_answer_text(&mut self, id: &Id, text: &str, out: &mut BoardSink<'_>) {
        let channel = out.answer_channel();
        self.said |= channel.is_none() && !text.is_empty();
        self.lines.push(id, text, |line| out.send_log(line, channel, None));
    }

    /// Starts a tool as soon as the item is known to be one, and shows a plan.
    fn update_item(&mut self, item: &Item, out: &mut BoardSink<'_>) {
        if let Details::Plan(plan) = &item.details
            && tools::is_plan_in_effect(item)
        {
            self.show_plan(tools::plan_text(plan), out);
        }
        if tools::is_tool(item) {
            self.start_action(item, out);
        }
    }

    fn start_action(&mut self, item: &Item, out: &mut BoardSink<'_>) {
        let Some(id) = out.item_id() else { return };
        if self.actions.insert(id.clone()) {
            let (tool, args) = (tools::tool_name(item), tools::tool_arguments(item));
            out.send_payload(ActionPayload { tool, args: &args, tool_id: id, parent: out.event.parent.as_deref() });
        }
    }

    fn show_plan(&mut self, text: String, out: &mut BoardSink<'_>) {
        if !text.is_empty() && text != self.plan {
            out.send_payload(PlanPayload {
                message: &text,
                channel: out.answer_channel(),
                parent: out.event.parent.as_deref(),
            });
            self.plan = text;
        }
    }

    fn item_completed(&mut self, item: &Item, out: &mut BoardSink<'_>) {
        let Some(id) = out.item_id() else { return };
        let Some(tracked) = self.track.finish_item(id) else { return };
        match &item.details {
            Details::AgentMessage(message) => {
                if item.status == Status::Superseded {
                    return self.lines.finish_message(id, |_| {});
                }
                self.push_answer_text(id, tracked.unsent_text(&message.text), out);
                let channel = out.answer_channel();
                self.lines.finish_message(id, |line| out.send_log(line, channel, None));
            }
            Details::Reasoning(_) if item.status == Status::Superseded => {}
            Details::Reasoning(_) => {
                let message = item_text(item, None);
                if !message.is_empty() {
                    let channel = out.answer_channel().or(Some("reasoning"));
                    out.send_payload(PlanPayload { message, channel, parent: out.event.parent.as_deref() });
                }
            }
            Details::UserMessage(message) => self.push_user_message(message, out),
            _ => self.end_tool(item, id, out),
        }
        // The item may have ended as another type than it started; drop its state either way.
        self.actions.remove(id);
        self.lines.finish_message(id, |_| {});
    }

    /// Ends a tool. A file change without a tool name is shown by its diffs only.
    fn end_tool(&mut self, item: &Item, id: &Id, out: &mut BoardSink<'_>) {
        self.update_item(item, out);
        if let Details::FileChange(change) = &item.details {
            if item.status == Status::Completed {
                change.changes.iter().for_each(|change| {
                    out.send_payload(DiffPayload {
                        file: &change.path,
                        diff: &change.diff,
                        change: change.kind,
                        to: change.to.as_deref(),
                        tool_id: id,
                        parent: out.event.parent.as_deref(),
                    });
                });
            } else {
                self.start_action(item, out);
            }
        }
        if self.actions.remove(id) {
            send_tool_result(item, id, out);
        }
    }

    fn push_user_message(&mut self, message: &UserMessage, out: &mut BoardSink<'_>) {
        // The subagent's prompt is already part of the action that started it.
        if out.is_from_subagent() {
            return;
        }
        let text = message.joined_text();
        let is_prompt = match &self.prompt {
            ExpectedPrompt::Known(prompt) => *prompt == text,
            ExpectedPrompt::Awaited => !message.queued && !message.synthetic,
            ExpectedPrompt::None => out.event.turn.is_none() && !message.queued && !message.synthetic,
        };
        if is_prompt {
            self.prompt = ExpectedPrompt::None;
        } else {
            out.send_log_lines(&text, "user", None);
        }
    }
}

fn send_tool_result(item: &Item, id: &Id, out: &mut BoardSink<'_>) {
    let exit_code = match &item.details {
        Details::Command(Command { exit_code, .. }) => *exit_code,
        _ => None,
    };
    out.send_payload(ToolResultPayload {
        tool: tools::tool_name(item),
        success: tools::has_succeeded(item),
        output: &tools::output_or_error(item),
        tool_id: id,
        exit_code,
        duration_ms: item.duration_ms,
        parent: out.event.parent.as_deref(),
    });
}

fn send_session_end(ended: &SessionEnded, out: &mut BoardSink<'_>) {
    let error = ended.error.as_ref();
    let message = error.map(|error| error.message.as_str());
    match ended.reason {
        EndReason::Completed => {}
        EndReason::Failed | EndReason::Timeout => out.send_payload(ErrorPayload {
            message: message.unwrap_or("the session failed"),
            error_type: error.map(|error| error.code.kind()),
        }),
        EndReason::Cancelled => out.send_payload(CancelledPayload { reason: message }),
    }
}

fn send_request(request: &RequestOpened, out: &mut BoardSink<'_>) {
    let said = [Some(request.title.as_str()), request.reason.as_deref(), request.command.as_deref()];
    let first_lines = said.into_iter().flatten().filter_map(|text| text.lines().next());
    let line = first_lines.into_iter().find(|line| !line.is_empty()).unwrap_or("the agent waits for an answer");
    let (id, parent) = (Some(&*request.request), out.event.parent.as_deref());
    out.send_payload(LogPayload { line, channel: Some("request"), level: None, request: id, parent });
}

/// Sends errors that did not end the session, and output lines that are not records. Other notices are omitted.
fn send_notice(notice: &Notice, out: &mut BoardSink<'_>) {
    let error = notice.error.as_ref().map(|error| error.message.as_str());
    let Some(text) = notice.text.as_deref().or(error).filter(|text| !text.is_empty()) else { return };
    match (notice.topic, notice.level) {
        (Topic::Stdout, _) => out.send_log_lines(text, "stdout", None),
        (Topic::Stderr, _) => out.send_log_lines(text, "stderr", None),
        (Topic::Warning | Topic::Retry, level) | (_, level @ (Level::Warning | Level::Error)) => {
            out.send_log_lines(text, "notice", Some(level));
        }
        (_, level) if error.is_some() => out.send_log_lines(text, "notice", Some(level)),
        _ => {}
    }
}

/// Unfinished lines of the messages in progress.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct MessageLineBuffer {
    open: BTreeMap<Id, String>,
}

impl MessageLineBuffer {
    /// Appends text to a message and emits the lines it completes.
    pub fn push(&mut self, message: &Id, text: &str, mut give: impl FnMut(&str)) {
        let (finished, rest) = match text.rsplit_once('\n') {
            Some((finished, rest)) => (Some(finished), rest),
            None => (None, text),
        };
        if let Some(finished) = finished {
            let begun = self.open.remove(message).unwrap_or_default();
            let mut lines = finished.split('\n');
            let first = lines.next().unwrap_or_default();
            if begun.is_empty() {
                give(first)
            } else {
                give(&(begun + first))
            }
            lines.for_each(&mut give);
        }
        if rest.is_empty() {
            return;
        }
        let open = self.open.entry(message.clone()).or_default();
        open.push_str(rest);
        if open.len() >= MAX_LINE_BYTES {
            give(open);
            self.open.remove(message);
        }
    }

    /// Ends a message and emits its last line unless it is empty.
    fn finish_message(&mut self, message: &Id, mut give: impl FnMut(&str)) {
        if let Some(line) = self.open.remove(message) {
            give(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::Id;

    use super::{MAX_LINE_BYTES, MessageLineBuffer};

    fn assert_lines(pieces: &[&str], expected: &[&str]) {
        let (mut lines, mut given, id) = (MessageLineBuffer::default(), Vec::new(), Id::from("m"));
        pieces.iter().for_each(|piece| lines.push(&id, piece, |line| given.push(line.to_owned())));
        lines.finish_message(&id, |line| given.push(line.to_owned()));
        assert_eq!(given, expected);
        assert!(lines.open.is_empty());
    }

    #[test]
    fn lines_are_given_when_they_are_finished() {
        assert_lines(&["a\nb"], &["a", "b"]);
        assert_lines(&["a", "b", "\n"], &["ab"]);
        assert_lines(&["a\n\nb\n"], &["a", "", "b"]);
        assert_lines(&["\n", "\n"], &["", ""]);
        assert_lines(&["one\ntw", "o\nthree", ""], &["one", "two", "three"]);
        assert_lines(&[""], &[]);
    }

    #[test]
    fn a_line_without_end_is_given_in_pieces() {
        let long = "x".repeat(MAX_LINE_BYTES);
        assert_lines(&[&long, "y"], &[&long, "y"]);
    }
}
