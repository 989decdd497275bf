//! Items: what is said and thought when it is whole, tools when they are called and when they give back.

use std::borrow::Cow;

use switchboard_event::{CallKind, ChangeKind, Details, Event, FileOp, Id, Item, Status};

use super::{
    languages,
    models::Model,
    project::{Trace, is_subagents},
    tokens::Held,
    wire::{Channel, EventType, Tool, ToolStatus},
};
use crate::{Messages, output, plan, tools, track::text_of};

impl Trace {
    pub(super) fn item_started(&mut self, item: &Item, event: &Event, out: &mut Messages) {
        if let Some(id) = event.item.as_ref().filter(|_| tools::is_work(item)) {
            self.call(id, item, event, out);
        }
    }

    pub(super) fn item_completed(&mut self, item: &Item, event: &Event, out: &mut Messages) {
        let Some(id) = &event.item else { return };
        match &item.details {
            // What was taken back is not what the assistant said.
            Details::AgentMessage(message) if item.status == Status::Superseded => {
                self.sink(event, out).meta(&message.text);
            }
            Details::AgentMessage(message) => {
                self.said |= !is_subagents(event) && !message.text.is_empty();
                self.say(EventType::AssistantMessage, Some(&message.text), item, event, out);
            }
            Details::Reasoning(_) => {
                let text = Some(text_of(item, None)).filter(|text| !text.is_empty());
                self.say(EventType::Reasoning, text, item, event, out);
            }
            Details::UserMessage(message) => self.user_said(message, event, out),
            _ if tools::is_work(item) || self.calls.contains(id) => self.give_back(id, item, event, out),
            Details::Plan(plan) => self.sink(event, out).meta(&plan::text(plan)),
            Details::Unknown(unknown) => self.sink(event, out).meta(&unknown.name),
            _ => {}
        }
        // An item that ended as something else than it began leaves nothing behind.
        self.calls.remove(id);
    }

    fn say(&mut self, kind: EventType, text: Option<&str>, item: &Item, event: &Event, out: &mut Messages) {
        let held = self.tokens_of(item, event);
        let model = self.model_of(item, event);
        self.sink(event, out).send(kind, Channel::Chat, |line| {
            line.what.text = text;
            model.put(&mut line.model);
            if let Some(held) = &held {
                line.count(&held.usage);
            }
        });
    }

    fn model_of(&self, item: &Item, event: &Event) -> Model {
        match &item.model {
            Some(model) => Model::Known(model.clone()),
            None => self.models.of(item.reply.as_ref(), is_subagents(event)),
        }
    }

    fn tokens_of(&mut self, item: &Item, event: &Event) -> Option<Box<Held>> {
        self.held.take_if(|held| held.is_of(item, event))
    }

    fn call(&mut self, id: &Id, item: &Item, event: &Event, out: &mut Messages) {
        if !self.calls.insert(id.clone()) {
            return;
        }
        let held = self.tokens_of(item, event);
        let model = self.model_of(item, event);
        let text = input(item);
        let mut sink = self.sink(event, out);
        sink.name(id, "");
        sink.send(EventType::ToolCall, channel(item), |line| {
            model.put(&mut line.model);
            line.what.text = Some(&*text).filter(|text| !text.is_empty());
            line.tool = Some(Tool { status: Some(ToolStatus::InProgress), ..tool(id, item) });
            if let Some(held) = &held {
                line.count(&held.usage);
            }
        });
    }

    /// A tool that nobody saw being called was called all the same.
    fn give_back(&mut self, id: &Id, item: &Item, event: &Event, out: &mut Messages) {
        self.call(id, item, event, out);
        self.calls.remove(id);
        let display = item.call.as_ref().and_then(|call| call.display.as_deref());
        let text = display.map_or_else(|| output::text_or_why(item), Cow::Borrowed);
        let mut sink = self.sink(event, out);
        sink.name(id, ":result");
        sink.send(EventType::ToolResult, channel(item), |line| {
            line.what.text = Some(&text);
            line.tool = Some(Tool {
                status: Some(status(item)),
                latency_ms: item.duration_ms,
                exit_code: exit_code(item),
                ..tool(id, item)
            });
        });
    }
}

/// What a call and its result both say about the tool.
fn tool<'a>(id: &'a Id, item: &'a Item) -> Tool<'a> {
    let file_path = file(item);
    Tool {
        name: Some(tools::name(item)),
        call_id: Some(id),
        file_path,
        file_language: file_path.and_then(languages::of),
        file_op: operation(item),
        ..Tool::default()
    }
}

fn exit_code(item: &Item) -> Option<i32> {
    let commands = match &item.details {
        Details::Command(command) => command.exit_code,
        _ => None,
    };
    commands.or_else(|| item.call.as_ref()?.exit_code)
}

/// What a tool was given, as text.
fn input(item: &Item) -> Cow<'_, str> {
    match (item.call.as_ref().and_then(|call| call.input.as_deref()), &item.details) {
        (Some(input), _) if input.get().starts_with('"') => output::readable(input),
        (Some(input), _) => Cow::Borrowed(input.get()),
        (None, Details::FileChange(change)) => Cow::Owned(output::changes(&change.changes)),
        (None, _) => Cow::Owned(tools::arguments(item).get().to_owned()),
    }
}

/// The file that a tool is about; of several, the first.
fn file(item: &Item) -> Option<&str> {
    let changed = match &item.details {
        Details::FileChange(change) => change.changes.first().map(|change| change.path.as_str()),
        _ => None,
    };
    changed.or_else(|| item.call.as_ref()?.locations.first().map(|location| location.path.as_str()))
}

fn operation(item: &Item) -> Option<FileOp> {
    let called = item.call.as_ref().and_then(|call| call.op);
    called.or_else(|| match &item.details {
        Details::FileChange(change) => change.changes.first().map(|change| match change.kind {
            ChangeKind::Add => FileOp::Create,
            ChangeKind::Modify => FileOp::Modify,
            ChangeKind::Delete => FileOp::Delete,
            ChangeKind::Move => FileOp::Move,
        }),
        _ => None,
    })
}

fn channel(item: &Item) -> Channel {
    let kind = item.call.as_ref().map_or(CallKind::Other, |call| call.kind);
    match (&item.details, kind) {
        (Details::Command(_), _) => Channel::Terminal,
        (Details::FileChange(_), _) => Channel::Editor,
        (Details::Mcp(_) | Details::WebSearch(_) | Details::Subagent(_) | Details::Plan(_), _) => Channel::Other,
        (_, CallKind::Execute) => Channel::Terminal,
        (_, CallKind::Edit | CallKind::Delete | CallKind::Move) => Channel::Editor,
        (_, CallKind::Read | CallKind::Search) => Channel::Filesystem,
        _ => Channel::Other,
    }
}

fn status(item: &Item) -> ToolStatus {
    match item.status {
        Status::Running | Status::Superseded => ToolStatus::Unknown,
        _ if tools::succeeded(item) => ToolStatus::Success,
        _ => ToolStatus::Error,
    }
}
