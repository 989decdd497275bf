//! What is wanted from events: facts, tokens, passages. Whoever made the events.

use std::collections::{HashMap, HashSet};

use switchboard_event::{
    Body, Details, Event, Id, Info, Item, Level, Notice, Status, Timestamp, Topic, TurnCompleted, Usage, UserMessage,
};

use super::text;
use crate::logs::{Called, Depth, Found, Kind, Spent};

/// What makes a reply the same everywhere: of its session, its key there, its figures and its time.
pub type Key = fn(&str, &str, &Usage, Option<Timestamp>) -> String;

/// How a record is called that says nothing about its kind.
const NAMELESS: &str = "one without a name";

/// What was in the events so far, as far as later ones need it.
pub struct Events {
    key: Key,
    /// The session, and the folder that is worked in.
    pub session: Option<String>,
    pub cwd: Option<String>,
    /// When the last record happened, if any has said so, and when the first did.
    pub at: Option<Timestamp>,
    pub began: Option<Timestamp>,
    pub info: Info,
    /// The subagent that this is the log of.
    pub subagent: Option<String>,
    prompted: bool,
    /// The calls whose input was given.
    calls: HashSet<Id>,
    /// The tools of replies whose figures have not come yet, and the replies whose figures have, with what makes them the
    /// same everywhere.
    waiting: HashMap<Id, Vec<Called>>,
    counted: HashMap<Id, String>,
}

impl Events {
    /// None yet.
    pub fn new(key: Key) -> Self {
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

    /// What is known about the session now.
    pub fn tell(&self, found: &mut Found) {
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

    /// Takes what is wanted from an event.
    pub fn event(&mut self, event: &Event, depth: Depth, found: &mut Found) {
        match &event.body {
            Body::SessionStarted(started) => self.info.learn(&started.info),
            Body::SessionUpdated(updated) => self.info.learn(&updated.info),
            Body::Usage(usage) if !usage.cumulative => self.used(usage, event, found),
            Body::ItemStarted(item) => self.item_started(item, event, depth, found),
            Body::ItemCompleted(item) => self.item_completed(item, event, depth, found),
            Body::TurnCompleted(turn) if depth == Depth::All => self.turn_completed(turn, found),
            Body::Notice(notice) => self.notice(notice, depth, found),
            _ => {}
        }
    }

    fn used(&mut self, usage: &Usage, event: &Event, found: &mut Found) {
        let session = self.session.as_deref().unwrap_or_default();
        // Figures without a key belong to the moment: two of them are never the same.
        let name = usage.key.clone().unwrap_or_else(|| Id::from(format!("#{}", event.seq)));
        let (tools, at) = (self.waiting.remove(&name).unwrap_or_default(), self.time(event));
        if event.thread.is_none() {
            found.facts.context_used = Some(usage.all_input());
        }
        let key = (self.key)(session, &name, usage, at);
        found.spent.push(Spent {
            key: key.clone(),
            at,
            model: usage.model.clone().or_else(|| self.info.model.clone()),
            cwd: self.cwd.clone(),
            subagent: event.thread.as_ref().map(ToString::to_string).or_else(|| self.subagent.clone()),
            // What is older than its session was copied into it.
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

    /// When it happened, if that is known.
    fn time(&self, event: &Event) -> Option<Timestamp> {
        self.at.map(|_| event.at)
    }

    /// A tool belongs to the reply that called it.
    fn called(&mut self, item: &Item, event: &Event, found: &mut Found) {
        let (Some(id), Some(reply), Some(call)) = (&event.item, &item.reply, &item.call) else { return };
        let called = Called { id: id.to_string(), name: call.name.clone() };
        match self.counted.get(reply) {
            Some(key) => {
                let (key, at) = (key.clone(), self.time(event));
                found.spent.push(Spent { key, at, tools: vec![called], copied: at < self.began, ..Spent::default() });
            }
            None => self.waiting.entry(reply.clone()).or_default().push(called),
        }
    }

    fn item_started(&mut self, item: &Item, event: &Event, depth: Depth, found: &mut Found) {
        if text::is_work(item) {
            self.called(item, event, found);
            if depth == Depth::All && item.call.as_ref().is_some_and(|call| call.input.is_some()) {
                self.call(item, event, found);
            }
        }
    }

    /// What a tool was called with, once.
    fn call(&mut self, item: &Item, event: &Event, found: &mut Found) {
        if event.item.as_ref().is_some_and(|id| self.calls.insert(id.clone())) {
            found.say(Kind::ToolCall, self.time(event), Some(text::name(item)), &text::input(item));
        }
    }

    fn item_completed(&mut self, item: &Item, event: &Event, depth: Depth, found: &mut Found) {
        match &item.details {
            Details::UserMessage(message) => self.user(message, event, depth, found),
            _ if depth < Depth::All => {}
            Details::AgentMessage(message) => {
                let kind = if item.status == Status::Superseded { Kind::Meta } else { Kind::AssistantMessage };
                found.say(kind, self.time(event), None, &message.text);
            }
            Details::Reasoning(thought) => {
                let text = thought.text.as_deref().or(thought.summary.as_deref());
                found.say(Kind::Reasoning, self.time(event), None, text.unwrap_or_default());
            }
            _ if text::is_work(item) => {
                self.call(item, event, found);
                found.say(Kind::ToolResult, self.time(event), Some(text::name(item)), &text::output(item));
            }
            Details::Plan(plan) => found.say(Kind::Meta, self.time(event), None, &text::plan(plan)),
            Details::Unknown(unknown) => found.say(Kind::Meta, self.time(event), None, &unknown.name),
            _ => {}
        }
    }

    /// What a subagent was told, or the agent's host put in, is no user's message.
    fn user(&mut self, message: &UserMessage, event: &Event, depth: Depth, found: &mut Found) {
        let text = message.joined();
        let is_prompt = !message.synthetic && event.thread.is_none() && event.parent.is_none();
        if is_prompt && !text.is_empty() {
            found.facts.prompts += 1;
            if !std::mem::replace(&mut self.prompted, true) {
                found.facts.prompt = Some(text.clone());
            }
        }
        if depth == Depth::All {
            found.say(if is_prompt { Kind::UserMessage } else { Kind::Meta }, self.time(event), None, &text);
        }
    }

    fn turn_completed(&self, turn: &TurnCompleted, found: &mut Found) {
        if let Some(error) = &turn.error {
            found.say(Kind::SystemMessage, self.at, None, &error.message);
        }
    }

    fn notice(&self, notice: &Notice, depth: Depth, found: &mut Found) {
        if notice.topic == Topic::Unknown && notice.level == Level::Debug {
            let name = notice.name.as_deref().filter(|name| !name.is_empty());
            found.unknown = Some(name.unwrap_or(NAMELESS).to_owned());
        }
        if let Some(kind) = text::kind(notice).filter(|_| depth == Depth::All) {
            let error = notice.error.as_ref().map(|error| error.message.as_str());
            found.say(kind, self.at, None, notice.text.as_deref().or(error).unwrap_or_default());
        }
    }
}
