//! Extracts facts, token usage and passages from events.

use std::collections::{HashMap, HashSet};

use switchboard_event::{
    Details, Event, EventBody, Id, Info, Item, Level, Notice, Status, Timestamp, Topic, TurnCompleted, Usage,
    UserMessage,
};

use super::text;
use crate::logs::{PassageKind, ReplyTokens, ScanDepth, ScanOutput, ToolCallRef};

/// Builds the key that identifies a reply everywhere, from its session, its key there, its usage and its time.
pub type ReplyKey = fn(&str, &str, &Usage, Option<Timestamp>) -> String;

/// The name of a record without a kind.
const UNNAMED_RECORD_KIND: &str = "one without a name";

/// The state that later events need.
pub struct EventExtractor {
    key: ReplyKey,
    /// The session, and its working directory.
    pub session: Option<String>,
    pub cwd: Option<String>,
    /// The time of the last record that has one, and that of the first.
    pub at: Option<Timestamp>,
    pub began: Option<Timestamp>,
    pub info: Info,
    /// The subagent that the log belongs to.
    pub subagent: Option<String>,
    prompted: bool,
    /// The calls whose input was already written.
    calls: HashSet<Id>,
    /// The tools of replies without usage so far, and the keys of replies with usage.
    waiting: HashMap<Id, Vec<ToolCallRef>>,
    counted: HashMap<Id, String>,
}

impl EventExtractor {
    pub fn new(key: ReplyKey) -> Self {
        Self {
            key,
            session: None,
            cwd: None,
            at: None,
            began: None,
            info: Info::default(),
            subagent: None,
            prompted: false,
            calls: HashSet::new(),
            waiting: HashMap::new(),
            counted: HashMap::new(),
        }
    }

    /// Writes the current facts about the session.
    pub fn write_facts(&self, found: &mut ScanOutput) {
        let facts = &mut found.facts;
        facts.session.clone_from(&self.session);
        facts.cwd.clone_from(&self.cwd);
        (facts.model, facts.title) = (self.info.model.clone(), self.info.title.clone());
        facts.version.clone_from(&self.info.version);
        (facts.began, facts.updated) = (self.at, self.at);
        if let Some(context) = self.info.context {
            (facts.context_used, facts.context_size) = (context.used.or(facts.context_used), context.size);
        }
    }

    pub fn extract_event(&mut self, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        match &event.body {
            EventBody::SessionStarted(started) => self.info.apply_update(&started.info),
            EventBody::SessionUpdated(updated) => self.info.apply_update(&updated.info),
            EventBody::Usage(usage) if !usage.cumulative => self.extract_usage(usage, event, found),
            EventBody::ItemStarted(item) => self.extract_started_item(item, event, depth, found),
            EventBody::ItemCompleted(item) => self.extract_completed_item(item, event, depth, found),
            EventBody::TurnCompleted(turn) if depth == ScanDepth::All => self.extract_turn_error(turn, found),
            EventBody::Notice(notice) => self.extract_notice(notice, depth, found),
            _ => {}
        }
    }

    fn extract_usage(&mut self, usage: &Usage, event: &Event, found: &mut ScanOutput) {
        let session = self.session.as_deref().unwrap_or_default();
        // Usage without a key belongs to its event: two of them are never the same.
        let name = usage.key.clone().unwrap_or_else(|| Id::from(format!("#{}", event.seq)));
        let (tools, at) = (self.waiting.remove(&name).unwrap_or_default(), self.event_time(event));
        if event.thread.is_none() {
            found.facts.context_used = Some(usage.all_input());
        }
        let key = (self.key)(session, &name, usage, at);
        found.spent.push(ReplyTokens {
            key: key.clone(),
            at,
            model: usage.model.clone().or_else(|| self.info.model.clone()),
            cwd: self.cwd.clone(),
            subagent: event.thread.as_ref().map(ToString::to_string).or_else(|| self.subagent.clone()),
            // A reply that is older than its session was copied into it.
            copied: at < self.began,
            input: usage.input.saturating_add(usage.tool.unwrap_or(0)),
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write_5m,
            cache_write_1h: usage.cache_write_1h,
            reasoning: usage.reasoning,
            cost_usd: usage.cost_usd,
            tools,
            is_total: false,
        });
        self.counted.insert(name, key);
    }

    /// The time of an event, if any record had one.
    fn event_time(&self, event: &Event) -> Option<Timestamp> {
        self.at.map(|_| event.at)
    }

    /// Attributes a tool call to its reply.
    fn extract_tool_call(&mut self, item: &Item, event: &Event, found: &mut ScanOutput) {
        let (Some(id), Some(reply), Some(call)) = (&event.item, &item.reply, &item.call) else { return };
        let called = ToolCallRef { id: id.to_string(), name: call.name.clone() };
        match self.counted.get(reply) {
            Some(key) => {
                let (key, at) = (key.clone(), self.event_time(event));
                found.spent.push(ReplyTokens {
                    key,
                    at,
                    tools: vec![called],
                    copied: at < self.began,
                    ..ReplyTokens::default()
                });
            }
            None => self.waiting.entry(reply.clone()).or_default().push(called),
        }
    }

    fn extract_started_item(&mut self, item: &Item, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        if text::is_tool_item(item) {
            self.extract_tool_call(item, event, found);
            if depth == ScanDepth::All && item.call.as_ref().is_some_and(|call| call.input.is_some()) {
                self.write_call_passage(item, event, found);
            }
        }
    }

    /// Writes the input of a tool once.
    fn write_call_passage(&mut self, item: &Item, event: &Event, found: &mut ScanOutput) {
        if event.item.as_ref().is_some_and(|id| self.calls.insert(id.clone())) {
            found.add_passage(
                PassageKind::ToolCall,
                self.event_time(event),
                Some(text::tool_name(item)),
                &text::input_text(item),
            );
        }
    }

    fn extract_completed_item(&mut self, item: &Item, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        match &item.details {
            Details::UserMessage(message) => self.extract_user_message(message, event, depth, found),
            _ if depth < ScanDepth::All => {}
            Details::AgentMessage(message) => {
                let kind =
                    if item.status == Status::Superseded { PassageKind::Meta } else { PassageKind::AssistantMessage };
                found.add_passage(kind, self.event_time(event), None, &message.text);
            }
            Details::Reasoning(thought) => {
                let text = thought.text.as_deref().or(thought.summary.as_deref());
                found.add_passage(PassageKind::Reasoning, self.event_time(event), None, text.unwrap_or_default());
            }
            _ if text::is_tool_item(item) => {
                self.write_call_passage(item, event, found);
                found.add_passage(
                    PassageKind::ToolResult,
                    self.event_time(event),
                    Some(text::tool_name(item)),
                    &text::output_text(item),
                );
            }
            Details::Plan(plan) => {
                found.add_passage(PassageKind::Meta, self.event_time(event), None, &text::plan_text(plan))
            }
            Details::Unknown(unknown) => {
                found.add_passage(PassageKind::Meta, self.event_time(event), None, &unknown.name)
            }
            _ => {}
        }
    }

    /// The prompt of a subagent, or a message of the agent's host, is not a user message.
    fn extract_user_message(&mut self, message: &UserMessage, event: &Event, depth: ScanDepth, found: &mut ScanOutput) {
        let text = message.joined_text();
        let is_prompt = !message.synthetic && event.thread.is_none() && event.parent.is_none();
        if is_prompt && !text.is_empty() {
            found.facts.prompts += 1;
            if !std::mem::replace(&mut self.prompted, true) {
                found.facts.prompt = Some(text.clone());
            }
        }
        if depth == ScanDepth::All {
            found.add_passage(
                if is_prompt { PassageKind::UserMessage } else { PassageKind::Meta },
                self.event_time(event),
                None,
                &text,
            );
        }
    }

    fn extract_turn_error(&self, turn: &TurnCompleted, found: &mut ScanOutput) {
        if let Some(error) = &turn.error {
            found.add_passage(PassageKind::SystemMessage, self.at, None, &error.message);
        }
    }

    fn extract_notice(&self, notice: &Notice, depth: ScanDepth, found: &mut ScanOutput) {
        if notice.topic == Topic::Unknown && notice.level == Level::Debug {
            let name = notice.name.as_deref().filter(|name| !name.is_empty());
            found.unknown = Some(name.unwrap_or(UNNAMED_RECORD_KIND).to_owned());
        }
        if let Some(kind) = text::notice_passage_kind(notice).filter(|_| depth == ScanDepth::All) {
            let error = notice.error.as_ref().map(|error| error.message.as_str());
            found.add_passage(kind, self.at, None, notice.text.as_deref().or(error).unwrap_or_default());
        }
    }
}
