//! Items: what is said, thought, called and planned. What is said is streamed piece by piece and then given whole,
//! once; a tool is a `tool_use` or progress, and a summary with its result.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{AgentMessage, Delta, Details, Field, Id, Item, Notice, Plan, Reasoning, Status};

use super::{
    blocks::{blocks, drop_block},
    project::Messenger,
    sink::Sink,
    tools,
    wire::{
        Assistant, Content, Dropped, EventType, Kind, LifecycleSubtype, ProgressStatus, SessionLifecycle,
        StatusSubtype, StreamEvent, Tool, ToolProgress, ToolUseSummary, UserMessage,
    },
};
use crate::{
    plan,
    track::{Tracked, text_of},
};

/// The plan as it was last told: one that did not change is not told again.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ToldPlan(Plan);

impl Messenger {
    /// Work on an item began.
    pub(super) fn item_started(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Some(id) = &out.event.item else { return };
        if tools::is_tool(item) {
            self.tool_started(id, item, out);
        }
        if let Some(event_type) = streams(item) {
            self.stream(event_type, Field::Text, text_of(item, None), out);
        }
        self.show_plan(item, out);
    }

    /// A tool is told once: as a block of the model's message where the agent writes it so, else by its progress.
    fn tool_started(&mut self, id: &Id, item: &Item, out: &mut Sink<'_>) {
        let input = tools::input(item);
        let message = out.next_id().to_string();
        if item.call.as_ref().is_some_and(|call| call.is_block) {
            let call = Content::ToolUse { id, name: tools::tool(id, item).tool_name, input: Cow::Borrowed(&input) };
            let mut metadata = self.assistant(item, out);
            metadata.team_type = tools::team_type(item);
            out.send_with(Kind::Assistant(metadata), vec![call], None);
        } else {
            let progress = ToolProgress { input: Some(input), ..self.progress(id, item, out) };
            out.send(Kind::ToolProgress(progress));
        }
        self.parents.note(id, message);
        self.called.insert(id.clone());
    }

    /// A tool was named whose input is still being written.
    pub(super) fn pending(&self, notice: &Notice, out: &mut Sink<'_>) {
        let Some(tool_use_id) = out.event.item.as_deref() else { return };
        let tool_name = notice.name.as_deref().unwrap_or("tool");
        let tool = Tool { tool_use_id, tool_name, title: None, kind: None, team_type: None };
        out.send(Kind::ToolProgress(ToolProgress {
            place: out.place(),
            tool,
            status: ProgressStatus::Pending,
            input: None,
            elapsed_time_seconds: None,
            progress: None,
            text: None,
            output_delta: None,
        }));
    }

    fn progress<'a>(&self, id: &'a str, item: &'a Item, out: &Sink<'a>) -> ToolProgress<'a> {
        let waits = self.activity.waits(id);
        ToolProgress {
            place: out.place(),
            tool: tools::tool(id, item),
            status: if waits { ProgressStatus::Pending } else { ProgressStatus::Running },
            input: None,
            elapsed_time_seconds: None,
            progress: None,
            text: None,
            output_delta: None,
        }
    }

    /// The metadata of something that is not finished, or is finished well.
    fn assistant<'a>(&'a self, item: &'a Item, out: &Sink<'a>) -> Assistant<'a> {
        Assistant {
            place: out.place(),
            item_id: out.item(),
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

    /// An item grew or changed.
    pub(super) fn item_grew(&mut self, delta: &Delta, out: &mut Sink<'_>) {
        let Some(tracked) = self.track.get(out.item()) else { return };
        let (is_tool, event_type) = (self.called.contains(out.item()), streams(&tracked.item));
        match delta {
            Delta::Append { field, text, .. } => match event_type {
                Some(event_type) => self.stream(event_type, *field, text, out),
                None if is_tool && *field == Field::Output => {
                    let progress = self.progress(out.item(), &tracked.item, out);
                    let progress = ToolProgress { output_delta: Some(text), ..progress };
                    out.send_with(Kind::ToolProgress(progress), Vec::new(), self.parents.of(out.item()));
                }
                None => {}
            },
            Delta::Progress { elapsed_ms, ratio, text } if is_tool => {
                let progress = ToolProgress {
                    elapsed_time_seconds: elapsed_ms.map(seconds),
                    progress: ratio.map(|ratio| ratio.clamp(0.0, 1.0)),
                    text: text.as_deref(),
                    ..self.progress(out.item(), &tracked.item, out)
                };
                out.send_with(Kind::ToolProgress(progress), Vec::new(), self.parents.of(out.item()));
            }
            Delta::Set { .. } | Delta::Progress { .. } => {}
        }
    }

    /// An item is now this. Only a tool's title and input are told anew: nothing that grew is sent again.
    pub(super) fn item_set(&mut self, patch: &Item, out: &mut Sink<'_>) {
        let Some(tracked) = self.track.get(out.item()) else { return };
        let told = |item: &Item| {
            let call = item.call.as_ref()?;
            Some((call.title.clone(), call.input.as_ref().map(|input| input.get().to_owned())))
        };
        if self.called.contains(out.item()) && told(&tracked.item) != told(patch) {
            let input = Some(tools::input(patch));
            let progress = ToolProgress { input, ..self.progress(out.item(), patch, out) };
            out.send_with(Kind::ToolProgress(progress), Vec::new(), self.parents.of(out.item()));
        }
        self.show_plan(patch, out);
    }

    fn stream(&mut self, event_type: EventType, field: Field, text: &str, out: &mut Sink<'_>) {
        let says_something = matches!(field, Field::Text | Field::Summary) && !text.is_empty();
        if !says_something || !self.track.grew(out.item(), field, text).is_some_and(|grown| grown.shown) {
            return;
        }
        let content = match event_type {
            EventType::TextDelta => Content::text(text),
            EventType::ThinkingDelta => Content::Thinking { thinking: text },
        };
        let metadata = StreamEvent { place: out.place(), item_id: out.item(), event_type };
        out.send_with(Kind::StreamEvent(metadata), vec![content], None);
    }

    /// An item is finished.
    pub(super) fn item_completed(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Some(tracked) = self.track.finish(out.item()) else { return };
        self.show_plan(item, out);
        if !self.called.contains(out.item()) && tools::is_tool(item) {
            self.tool_started(&Id::from(out.item()), item, out);
        }
        if self.called.remove(out.item()) {
            self.tool_ended(item, out);
            return self.parents.end(out.item());
        }
        if item.status == Status::Superseded {
            return removed(&tracked, out);
        }
        match &item.details {
            Details::UserMessage(message) => {
                let (content, dropped) = blocks(&message.content);
                out.send_with(
                    Kind::UserMessage(UserMessage {
                        place: out.place(),
                        item_id: out.item(),
                        is_synthetic: message.synthetic,
                        queued: message.queued,
                        dropped,
                    }),
                    content,
                    None,
                );
            }
            Details::AgentMessage(message) => self.said(item, message, out),
            Details::Reasoning(reasoning) => self.thought(item, reasoning, out),
            Details::Unknown(unknown) => {
                let mut metadata = self.assistant(item, out);
                let block = unknown.raw.as_deref().map_or(Cow::Borrowed(RawValue::NULL), Cow::Borrowed);
                let content = drop_block(Cow::Borrowed(&unknown.name), block, &mut metadata.dropped);
                out.send_with(Kind::Assistant(metadata), vec![content], None);
            }
            _ => {}
        }
    }

    fn said(&self, item: &Item, message: &AgentMessage, out: &mut Sink<'_>) {
        let (pieces, dropped) = blocks(&message.content);
        let text = (!message.text.is_empty()).then(|| match message.refusal {
            true => Content::Refusal { refusal: &message.text },
            false => Content::text(message.text.as_str()),
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
            ..self.assistant(item, out)
        };
        out.send_with(Kind::Assistant(metadata), content, None);
    }

    /// Thoughts, or their summary where there is nothing else.
    fn thought(&self, item: &Item, reasoning: &Reasoning, out: &mut Sink<'_>) {
        let filled = |text: &'_ Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        let thinking = text_of(item, None);
        if thinking.is_empty() && !reasoning.redacted {
            return;
        }
        let metadata = Assistant {
            status: Some(tools::end_status(item.status)),
            summary: reasoning.summary.as_deref().filter(|_| filled(&reasoning.text) && filled(&reasoning.summary)),
            redacted: reasoning.redacted,
            truncated: reasoning.truncated,
            ..self.assistant(item, out)
        };
        out.send_with(Kind::Assistant(metadata), vec![Content::Thinking { thinking }], None);
    }

    fn tool_ended(&self, item: &Item, out: &mut Sink<'_>) {
        let id = out.item();
        let failure = tools::failure(item);
        let (text, output) = tools::output(item);
        let silent = text.is_empty() && failure.is_error;
        let text = if silent { failure.error.clone().unwrap_or_default() } else { text };
        let call = item.call.as_deref();
        let (pieces, dropped) = blocks(call.map(|call| call.content.as_slice()).unwrap_or_default());
        let result = Content::ToolResult { tool_use_id: id, content: text, is_error: failure.is_error };
        let (exit_code, changes) = match &item.details {
            Details::Command(command) => (command.exit_code, Vec::new()),
            Details::FileChange(change) => (None, tools::file_changes(&change.changes)),
            _ => (None, Vec::new()),
        };
        let summary = ToolUseSummary {
            place: out.place(),
            tool: Some(tools::tool(id, item)),
            tool_use_ids: vec![Cow::Borrowed(id)],
            status: tools::end_status(item.status),
            summary: tools::summary(item),
            failure,
            output,
            exit_code,
            duration_ms: item.duration_ms,
            changes,
            truncated: tools::truncated(item),
            dropped,
        };
        let content = std::iter::once(result).chain(pieces).collect();
        out.send_with(Kind::ToolUseSummary(Box::new(summary)), content, self.parents.of(id));
    }

    fn show_plan(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Details::Plan(plan) = &item.details else { return };
        if !plan::holds(item) {
            return;
        }
        let ToldPlan(told) = &self.plan;
        let same = told.entries == plan.entries && told.text == plan.text && told.explanation == plan.explanation;
        if same {
            return;
        }
        self.plan = ToldPlan(plan.clone());
        let mut change = self.status(out);
        change.subtype = Some(StatusSubtype::Plan);
        change.plan = Some(&plan.entries);
        (change.plan_text, change.explanation) = (plan.text.as_deref(), plan.explanation.as_deref());
        out.send(Kind::StatusChange(Box::new(change)));
    }
}

/// What an item streams, if it says or thinks something.
fn streams(item: &Item) -> Option<EventType> {
    match &item.details {
        Details::AgentMessage(_) => Some(EventType::TextDelta),
        Details::Reasoning(_) => Some(EventType::ThinkingDelta),
        _ => None,
    }
}

/// Something that was streamed is taken back, since something else took its place.
fn removed(tracked: &Tracked, out: &mut Sink<'_>) {
    if tracked.sent == 0 {
        return;
    }
    let mut metadata = SessionLifecycle::new(LifecycleSubtype::MessageRemoved, out.place());
    metadata.item_id = Some(out.item());
    out.send(Kind::SessionLifecycle(metadata));
}

#[expect(clippy::cast_precision_loss, reason = "no tool runs for 285,000 years")]
fn seconds(millis: u64) -> f64 {
    millis as f64 / 1_000.0
}
