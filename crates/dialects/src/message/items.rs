//! Messages, reasoning, tool calls and plans. Text is streamed and then sent once in full; a tool starts with a
//! `tool_use` block or a progress message and ends with a summary that contains its result.

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{AgentMessage, Delta, Details, Field, Id, Item, Notice, Plan, Reasoning, Status};

use super::tools::{content_blocks, drop_block};
use super::wire::{
    Assistant, Content, Dropped, EventType, Kind, LifecycleSubtype, ProgressStatus, SessionLifecycle, StatusSubtype,
    StreamEvent, Tool, ToolProgress, ToolUseSummary, UserMessage,
};
use super::{MessageProjection, MessageSink, tools};
use crate::{
    tools::is_plan_in_effect,
    track::{TrackedItem, item_text},
};

/// Maximum number of remembered ended calls.
const MAX_ENDED_CALLS: usize = 256;

/// The last plan sent; an unchanged plan is not sent again.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct LastPlan(Plan);

impl MessageProjection {
    /// Handles the start of an item.
    pub(super) fn item_started(&mut self, item: &Item, out: &mut MessageSink<'_>) {
        let Some(id) = &out.event.item else { return };
        if tools::is_tool(item) {
            self.tool_started(id, item, out);
        }
        if let Some(event_type) = stream_type(item) {
            self.push_stream_event(event_type, Field::Text, item_text(item, None), out);
        }
        self.show_plan(item, out);
    }

    /// Reports the start of a tool once: as a block of the model's message if the agent writes it that way, else as
    /// progress.
    fn tool_started(&mut self, id: &Id, item: &Item, out: &mut MessageSink<'_>) {
        let input = tools::tool_input(item);
        let message = out.next_id().to_string();
        if item.call.as_ref().is_some_and(|call| call.is_block) {
            let call =
                Content::ToolUse { id, name: tools::tool_metadata(id, item).tool_name, input: Cow::Borrowed(&input) };
            let mut metadata = self.assistant_metadata(item, out);
            metadata.team_type = tools::team_type(item);
            out.send_with(Kind::Assistant(metadata), vec![call], None);
        } else {
            let progress = ToolProgress { input: Some(input), ..self.tool_progress(id, item, out) };
            out.send(Kind::ToolProgress(progress));
        }
        self.parents.insert(id, message);
        self.called.insert(id.clone());
    }

    /// Reports a tool whose input is still being written.
    pub(super) fn push_pending_tool(&self, notice: &Notice, out: &mut MessageSink<'_>) {
        let Some(tool_use_id) = out.event.item.as_deref() else { return };
        let tool_name = notice.name.as_deref().unwrap_or("tool");
        let tool = Tool { tool_use_id, tool_name, title: None, kind: None, team_type: None };
        out.send(Kind::ToolProgress(ToolProgress {
            place: out.message_place(),
            tool,
            status: ProgressStatus::Pending,
            input: None,
            elapsed_time_seconds: None,
            progress: None,
            text: None,
            output_delta: None,
        }));
    }

    fn tool_progress<'a>(&self, id: &'a str, item: &'a Item, out: &MessageSink<'a>) -> ToolProgress<'a> {
        let waits = self.activity.awaits_answer(id);
        ToolProgress {
            place: out.message_place(),
            tool: tools::tool_metadata(id, item),
            status: if waits { ProgressStatus::Pending } else { ProgressStatus::Running },
            input: None,
            elapsed_time_seconds: None,
            progress: None,
            text: None,
            output_delta: None,
        }
    }

    /// Returns the metadata of an item without a final status.
    fn assistant_metadata<'a>(&'a self, item: &'a Item, out: &MessageSink<'a>) -> Assistant<'a> {
        Assistant {
            place: out.message_place(),
            item_id: out.item_id(),
            message_id: item.reply.as_deref(),
            // A subagent may use another model.
            model: self.model.as_deref().filter(|_| out.event.thread.is_none()),
            status: None,
            phase: None,
            summary: None,
            redacted: false,
            truncated: false,
            team_type: None,
            dropped: Dropped::default(),
        }
    }

    /// Handles text and progress of an item.
    pub(super) fn item_grew(&mut self, delta: &Delta, out: &mut MessageSink<'_>) {
        let Some(tracked) = self.track.get(out.item_id()) else { return };
        let (is_tool, event_type) = (self.called.contains(out.item_id()), stream_type(&tracked.item));
        match delta {
            Delta::Append { field, text, .. } => match event_type {
                Some(event_type) => self.push_stream_event(event_type, *field, text, out),
                None if is_tool && *field == Field::Output => {
                    let progress = self.tool_progress(out.item_id(), &tracked.item, out);
                    let progress = ToolProgress { output_delta: Some(text), ..progress };
                    out.send_with(Kind::ToolProgress(progress), Vec::new(), self.parents.message_of(out.item_id()));
                }
                None => {}
            },
            Delta::Progress { elapsed_ms, ratio, text } if is_tool => {
                let progress = ToolProgress {
                    elapsed_time_seconds: elapsed_ms.map(to_seconds),
                    progress: ratio.map(|ratio| ratio.clamp(0.0, 1.0)),
                    text: text.as_deref(),
                    ..self.tool_progress(out.item_id(), &tracked.item, out)
                };
                out.send_with(Kind::ToolProgress(progress), Vec::new(), self.parents.message_of(out.item_id()));
            }
            Delta::Set { .. } | Delta::Progress { .. } => {}
        }
    }

    /// Handles the replacement of an item. Only a changed title or input of a tool is sent; streamed text is not
    /// repeated.
    pub(super) fn item_set(&mut self, patch: &Item, out: &mut MessageSink<'_>) {
        let Some(tracked) = self.track.get(out.item_id()) else { return };
        let told = |item: &Item| {
            let call = item.call.as_ref()?;
            Some((call.title.clone(), call.input.as_ref().map(|input| input.get().to_owned())))
        };
        if self.called.contains(out.item_id()) && told(&tracked.item) != told(patch) {
            let input = Some(tools::tool_input(patch));
            let progress = ToolProgress { input, ..self.tool_progress(out.item_id(), patch, out) };
            out.send_with(Kind::ToolProgress(progress), Vec::new(), self.parents.message_of(out.item_id()));
        }
        self.show_plan(patch, out);
    }

    fn push_stream_event(&mut self, event_type: EventType, field: Field, text: &str, out: &mut MessageSink<'_>) {
        let says_something = matches!(field, Field::Text | Field::Summary) && !text.is_empty();
        if !says_something || !self.track.append_text(out.item_id(), field, text).is_some_and(|grown| grown.shown) {
            return;
        }
        let content = match event_type {
            EventType::TextDelta => Content::from_text(text),
            EventType::ThinkingDelta => Content::Thinking { thinking: text },
        };
        let metadata = StreamEvent { place: out.message_place(), item_id: out.item_id(), event_type };
        out.send_with(Kind::StreamEvent(metadata), vec![content], None);
    }

    /// Handles the end of an item.
    pub(super) fn item_completed(&mut self, item: &Item, out: &mut MessageSink<'_>) {
        let Some(tracked) = self.track.finish_item(out.item_id()) else { return };
        self.show_plan(item, out);
        if !self.called.contains(out.item_id()) && tools::is_tool(item) {
            self.tool_started(&Id::from(out.item_id()), item, out);
        }
        if self.called.remove(out.item_id()) {
            self.tool_ended(item, out);
            return self.parents.end_call(out.item_id());
        }
        if item.status == Status::Superseded {
            return push_removed(&tracked, out);
        }
        match &item.details {
            Details::UserMessage(message) => {
                let (content, dropped) = content_blocks(&message.content);
                out.send_with(
                    Kind::UserMessage(UserMessage {
                        place: out.message_place(),
                        item_id: out.item_id(),
                        is_synthetic: message.synthetic,
                        queued: message.queued,
                        dropped,
                    }),
                    content,
                    None,
                );
            }
            Details::AgentMessage(message) => self.push_message(item, message, out),
            Details::Reasoning(reasoning) => self.push_reasoning(item, reasoning, out),
            Details::Unknown(unknown) => {
                let mut metadata = self.assistant_metadata(item, out);
                let block = unknown.raw.as_deref().map_or(Cow::Borrowed(RawValue::NULL), Cow::Borrowed);
                let content = drop_block(Cow::Borrowed(&unknown.name), block, &mut metadata.dropped);
                out.send_with(Kind::Assistant(metadata), vec![content], None);
            }
            _ => {}
        }
    }

    fn push_message(&self, item: &Item, message: &AgentMessage, out: &mut MessageSink<'_>) {
        let (pieces, dropped) = content_blocks(&message.content);
        let text = (!message.text.is_empty()).then(|| match message.refusal {
            true => Content::Refusal { refusal: &message.text },
            false => Content::from_text(message.text.as_str()),
        });
        let content: Vec<_> = text.into_iter().chain(pieces).collect();
        if content.is_empty() {
            return;
        }
        let metadata = Assistant {
            status: Some(tools::end_status(item.status)),
            phase: message.phase.as_deref(),
            truncated: message.truncated,
            dropped,
            ..self.assistant_metadata(item, out)
        };
        out.send_with(Kind::Assistant(metadata), content, None);
    }

    /// Sends reasoning text, or its summary if there is no text.
    fn push_reasoning(&self, item: &Item, reasoning: &Reasoning, out: &mut MessageSink<'_>) {
        let filled = |text: &'_ Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        let thinking = item_text(item, None);
        if thinking.is_empty() && !reasoning.redacted {
            return;
        }
        let metadata = Assistant {
            status: Some(tools::end_status(item.status)),
            summary: reasoning.summary.as_deref().filter(|_| filled(&reasoning.text) && filled(&reasoning.summary)),
            redacted: reasoning.redacted,
            truncated: reasoning.truncated,
            ..self.assistant_metadata(item, out)
        };
        out.send_with(Kind::Assistant(metadata), vec![Content::Thinking { thinking }], None);
    }

    fn tool_ended(&self, item: &Item, out: &mut MessageSink<'_>) {
        let id = out.item_id();
        let failure = tools::tool_failure(item);
        let (text, output) = tools::tool_output(item);
        let silent = text.is_empty() && failure.is_error;
        let text = if silent { failure.error.clone().unwrap_or_default() } else { text };
        let call = item.call.as_deref();
        let (pieces, dropped) = content_blocks(call.map(|call| call.content.as_slice()).unwrap_or_default());
        let result = Content::ToolResult { tool_use_id: id, content: text, is_error: failure.is_error };
        let (exit_code, changes) = match &item.details {
            Details::Command(command) => (command.exit_code, Vec::new()),
            Details::FileChange(change) => (None, tools::file_changes(&change.changes)),
            _ => (None, Vec::new()),
        };
        let summary = ToolUseSummary {
            place: out.message_place(),
            tool: Some(tools::tool_metadata(id, item)),
            tool_use_ids: vec![Cow::Borrowed(id)],
            status: tools::end_status(item.status),
            summary: tools::end_summary(item),
            failure,
            output,
            exit_code,
            duration_ms: item.duration_ms,
            changes,
            truncated: tools::is_truncated(item),
            dropped,
        };
        let content = std::iter::once(result).chain(pieces).collect();
        out.send_with(Kind::ToolUseSummary(Box::new(summary)), content, self.parents.message_of(id));
    }

    fn show_plan(&mut self, item: &Item, out: &mut MessageSink<'_>) {
        let Details::Plan(plan) = &item.details else { return };
        if !is_plan_in_effect(item) {
            return;
        }
        let LastPlan(told) = &self.plan;
        let same = told.entries == plan.entries && told.text == plan.text && told.explanation == plan.explanation;
        if same {
            return;
        }
        self.plan = LastPlan(plan.clone());
        let mut change = self.current_status(out);
        change.subtype = Some(StatusSubtype::Plan);
        change.plan = Some(&plan.entries);
        (change.plan_text, change.explanation) = (plan.text.as_deref(), plan.explanation.as_deref());
        out.send(Kind::StatusChange(Box::new(change)));
    }
}

/// Returns the stream event type of a text item.
fn stream_type(item: &Item) -> Option<EventType> {
    match &item.details {
        Details::AgentMessage(_) => Some(EventType::TextDelta),
        Details::Reasoning(_) => Some(EventType::ThinkingDelta),
        _ => None,
    }
}

/// Retracts streamed text that another item superseded.
fn push_removed(tracked: &TrackedItem, out: &mut MessageSink<'_>) {
    if tracked.sent == 0 {
        return;
    }
    let mut metadata = SessionLifecycle::new(LifecycleSubtype::MessageRemoved, out.message_place());
    metadata.item_id = Some(out.item_id());
    out.send(Kind::SessionLifecycle(metadata));
}

#[expect(clippy::cast_precision_loss, reason = "no tool runs for 285,000 years")]
fn to_seconds(millis: u64) -> f64 {
    millis as f64 / 1_000.0
}

/// The messages of tool calls by item.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ParentMessages {
    open: BTreeMap<Id, String>,
    /// Oldest first.
    ended: VecDeque<(Id, String)>,
}

impl ParentMessages {
    /// Records the message that announced a call.
    pub fn insert(&mut self, item: &Id, message: String) {
        self.ended.retain(|(ended, _)| ended != item);
        self.open.insert(item.clone(), message);
    }

    /// Marks a call as ended.
    fn end_call(&mut self, item: &str) {
        self.ended.extend(self.open.remove_entry(item));
        if self.ended.len() > MAX_ENDED_CALLS {
            self.ended.pop_front();
        }
    }

    /// Returns the message that announced the call of an item.
    pub fn message_of(&self, item: &str) -> Option<&str> {
        let ended = || self.ended.iter().rev().find(|(ended, _)| *ended == *item).map(|(_, message)| message);
        self.open.get(item).or_else(ended).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::Id;

    use super::{MAX_ENDED_CALLS, ParentMessages};

    #[test]
    fn open_calls_and_the_latest_are_remembered() {
        let mut parents = ParentMessages::default();
        parents.insert(&Id::from("open"), "m".to_owned());
        for number in 0..2 * MAX_ENDED_CALLS {
            parents.insert(&Id::from(number.to_string()), format!("m{number}"));
            parents.end_call(&number.to_string());
        }
        assert_eq!((parents.open.len(), parents.ended.len()), (1, MAX_ENDED_CALLS));
        assert_eq!(parents.message_of("open"), Some("m"));
        assert_eq!(parents.message_of("0"), None);
        assert_eq!(
            parents.message_of(&(2 * MAX_ENDED_CALLS - 1).to_string()),
            Some(&*format!("m{}", 2 * MAX_ENDED_CALLS - 1))
        );
    }

    #[test]
    fn an_id_that_comes_again_is_the_new_call() {
        let (mut parents, id) = (ParentMessages::default(), Id::from("call"));
        for message in ["first", "second"] {
            parents.insert(&id, message.to_owned());
            parents.end_call(&id);
            assert_eq!(parents.message_of(&id), Some(message));
        }
        assert_eq!(parents.ended.len(), 1);
    }
}
