//! A session as a document: turns with messages, reasoning and tool calls, and subagents within the call that started
//! them. It is built from events and rendered as pages.

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::collections::HashMap;

use switchboard_event::{
    Call, Change, Details, Event, EventBody, Id, Item, Level, Notice, Plan, PlanStatus, Reasoning, Status, Stop,
    Timestamp, Topic, TurnCompleted, TurnStatus, Usage,
};

use super::Redactor;

/// A session from beginning to end.
#[derive(Clone, Debug, Default)]
pub struct TranscriptDocument {
    /// The session's title, or its first prompt.
    pub title: String,
    /// Details by name, in display order.
    pub about: Vec<(&'static str, String)>,
    pub turns: Vec<TranscriptTurn>,
    /// Total of all turns.
    pub usage: Usage,
}

/// A prompt and everything that followed it.
#[derive(Clone, Debug, Default)]
pub struct TranscriptTurn {
    /// Counts from 1; 0 is the part before the first prompt.
    pub number: u32,
    pub at: Option<Timestamp>,
    pub prompt: Option<String>,
    pub steps: Vec<TranscriptStep>,
    pub usage: Usage,
    pub duration_ms: Option<u64>,
    /// The reason, if the turn did not complete normally.
    pub problem: Option<String>,
}

/// A message, reasoning or a tool call.
#[derive(Clone, Debug)]
pub struct TranscriptStep {
    pub at: Timestamp,
    pub what: StepContent,
    /// The steps of a subagent.
    pub inner: Vec<TranscriptStep>,
}

/// The content of a step.
#[derive(Clone, Debug)]
pub enum StepContent {
    Said(String),
    Thought(String),
    Did(Box<TranscriptToolCall>),
    /// A notice.
    Note(String),
}

#[derive(Clone, Debug, Default)]
pub struct TranscriptToolCall {
    pub name: String,
    /// One-line summary.
    pub about: String,
    /// The command, if the tool ran one.
    pub command: Option<String>,
    /// The input as JSON, unless the other fields already show it.
    pub input: Option<String>,
    pub output: String,
    pub changes: Vec<Change>,
    /// The reason, if the call did not succeed.
    pub problem: Option<String>,
    /// The exit code, if it is not zero.
    pub exit_code: Option<i32>,
    pub duration_ms: Option<u64>,
}

impl TranscriptDocument {
    pub fn redact(&mut self, redactor: &Redactor) {
        redact_in_place(redactor, &mut self.title);
        self.about.iter_mut().for_each(|(_, text)| redact_in_place(redactor, text));
        self.turns.iter_mut().for_each(|turn| turn.redact(redactor));
    }
}

impl TranscriptTurn {
    fn redact(&mut self, redactor: &Redactor) {
        self.prompt.iter_mut().chain(&mut self.problem).for_each(|text| redact_in_place(redactor, text));
        self.steps.iter_mut().for_each(|step| step.redact(redactor));
    }
}

impl TranscriptStep {
    fn redact(&mut self, redactor: &Redactor) {
        match &mut self.what {
            StepContent::Said(text) | StepContent::Thought(text) | StepContent::Note(text) => {
                redact_in_place(redactor, text)
            }
            StepContent::Did(did) => did.redact(redactor),
        }
        self.inner.iter_mut().for_each(|step| step.redact(redactor));
    }
}

impl TranscriptToolCall {
    fn redact(&mut self, redactor: &Redactor) {
        [&mut self.about, &mut self.output].into_iter().for_each(|text| redact_in_place(redactor, text));
        self.command.iter_mut().chain(&mut self.problem).for_each(|text| redact_in_place(redactor, text));
        // The keys in the input show which values are secret.
        if let Some(input) = &mut self.input {
            *input = redactor.redact_json(input).into_owned();
            redact_in_place(redactor, input);
        }
        for change in &mut self.changes {
            redact_in_place(redactor, &mut change.diff);
            change.before.iter_mut().chain(&mut change.after).for_each(|text| redact_in_place(redactor, text));
        }
    }
}

fn redact_in_place(redactor: &Redactor, text: &mut String) {
    if let std::borrow::Cow::Owned(without) = redactor.redact_text(text) {
        *text = without;
    }
}

/// The document under construction: steps are kept flat, each with its enclosing step, until all events are applied.
#[derive(Default)]
struct TranscriptBuilder {
    turns: Vec<TranscriptTurn>,
    numbers: TurnCounter,
    steps: Vec<FlatStep>,
    /// The steps in which subagents run, by item and by thread.
    homes: HashMap<Id, usize>,
}

struct FlatStep {
    turn: usize,
    within: Option<usize>,
    step: TranscriptStep,
}

impl TranscriptDocument {
    /// Builds the document. The caller sets its title and details.
    #[must_use]
    pub fn from_events(events: impl IntoIterator<Item = impl Borrow<Event>>) -> Self {
        let mut builder = TranscriptBuilder::default();
        events.into_iter().for_each(|event| builder.apply_event(event.borrow()));
        builder.finish()
    }
}

impl TranscriptBuilder {
    fn apply_event(&mut self, event: &Event) {
        if let Some(prompt) = self.numbers.begin_turn(event) {
            let number = self.numbers.turn_number();
            self.turns.push(TranscriptTurn {
                number,
                at: Some(event.at),
                prompt: Some(prompt),
                ..TranscriptTurn::default()
            });
        }
        match &event.body {
            EventBody::ItemStarted(item) => self.start_subagent(event, item),
            EventBody::ItemCompleted(item) => self.complete_item(event, item),
            EventBody::Usage(usage) if !usage.cumulative => self.current_turn().usage.add(usage),
            EventBody::TurnCompleted(turn) if event.thread.is_none() => self.end_turn(turn),
            EventBody::Notice(notice) => self.add_notice(event, notice),
            _ => {}
        }
    }

    /// Returns the current turn, or a new one without a prompt if there is none.
    fn current_turn(&mut self) -> &mut TranscriptTurn {
        if self.turns.is_empty() {
            self.turns.push(TranscriptTurn::default());
        }
        let last = self.turns.len() - 1;
        &mut self.turns[last]
    }

    fn push_step(&mut self, event: &Event, what: StepContent) -> usize {
        self.current_turn();
        let within = self.enclosing_step(event);
        let turn = within.and_then(|at| self.steps.get(at)).map_or(self.turns.len() - 1, |flat| flat.turn);
        self.steps.push(FlatStep { turn, within, step: TranscriptStep { at: event.at, what, inner: Vec::new() } });
        self.steps.len() - 1
    }

    /// Returns the step of the subagent that an event belongs to.
    fn enclosing_step(&self, event: &Event) -> Option<usize> {
        let known = |id: &Option<Id>| id.as_ref().and_then(|id| self.homes.get(id)).copied();
        known(&event.parent).or_else(|| known(&event.thread))
    }

    /// Opens the step of a subagent: its events arrive before its call completes.
    fn start_subagent(&mut self, event: &Event, item: &Item) {
        if !matches!(item.details, Details::Subagent(_)) {
            return;
        }
        let (Some(id), Some(did)) = (event.item.clone(), tool_call(item)) else { return };
        let at = self.push_step(event, StepContent::Did(Box::new(did)));
        self.homes.insert(id, at);
        self.link_thread(item, at);
    }

    /// Some agents report the thread only later.
    fn link_thread(&mut self, item: &Item, at: usize) {
        if let Details::Subagent(agent) = &item.details
            && let Some(thread) = &agent.thread
        {
            self.homes.insert(thread.clone(), at);
        }
    }

    fn complete_item(&mut self, event: &Event, item: &Item) {
        if item.status == Status::Superseded {
            return;
        }
        let what = match &item.details {
            Details::AgentMessage(message) => StepContent::Said(message.text.clone()),
            Details::Reasoning(Reasoning { text, summary, .. }) => {
                let text = text.as_ref().filter(|text| !text.trim().is_empty()).or(summary.as_ref());
                StepContent::Thought(text.cloned().unwrap_or_default())
            }
            _ => match tool_call(item) {
                Some(did) => StepContent::Did(Box::new(did)),
                None => return,
            },
        };
        if matches!(&what, StepContent::Said(text) | StepContent::Thought(text) if text.trim().is_empty()) {
            return;
        }
        let known = event.item.as_ref().and_then(|id| self.homes.get(id)).copied();
        match known.and_then(|at| Some((at, self.steps.get_mut(at)?))) {
            Some((at, flat)) => {
                flat.step.what = what;
                self.link_thread(item, at);
            }
            None => drop(self.push_step(event, what)),
        }
    }

    fn add_notice(&mut self, event: &Event, notice: &Notice) {
        let text = notice.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let matters = matches!(notice.level, Level::Warning | Level::Error);
        let text = match notice.topic {
            Topic::Compaction => Some("context compacted"),
            Topic::ModelChanged | Topic::Retry => text,
            _ if matters => text,
            _ => None,
        };
        if let Some(text) = text {
            self.push_step(event, StepContent::Note(text.to_owned()));
        }
    }

    fn end_turn(&mut self, completed: &TurnCompleted) {
        let turn = self.current_turn();
        turn.duration_ms = completed.duration_ms.or(turn.duration_ms);
        let said = completed.error.as_ref().map(|error| error.message.clone()).filter(|said| !said.is_empty());
        turn.problem = match (completed.status, completed.stop) {
            (TurnStatus::Failed, _) => Some(said.unwrap_or_else(|| "failed".to_owned())),
            (TurnStatus::Interrupted, _) => Some("interrupted".to_owned()),
            (_, Stop::MaxTokens) => Some("the reply reached its length limit".to_owned()),
            (_, Stop::Refusal) => Some("the model refused".to_owned()),
            _ => None,
        };
    }

    /// Moves the steps into place, last first, so that each is complete before it becomes part of another.
    fn finish(mut self) -> TranscriptDocument {
        while let Some(flat) = self.steps.pop() {
            let into = match flat.within.and_then(|at| self.steps.get_mut(at)) {
                Some(home) => &mut home.step.inner,
                None => match self.turns.get_mut(flat.turn) {
                    Some(turn) => &mut turn.steps,
                    None => continue,
                },
            };
            into.push(flat.step);
        }
        let mut story = TranscriptDocument { turns: self.turns, ..TranscriptDocument::default() };
        story.turns.iter_mut().for_each(|turn| turn.steps = restore_order(std::mem::take(&mut turn.steps)));
        story.turns.iter().for_each(|turn| story.usage.add(&turn.usage));
        story
    }
}

/// The steps were appended in reverse order.
fn restore_order(mut steps: Vec<TranscriptStep>) -> Vec<TranscriptStep> {
    steps.reverse();
    for step in &mut steps {
        step.inner = restore_order(std::mem::take(&mut step.inner));
        // The last message of a subagent is its result.
        if let (StepContent::Did(did), Some(TranscriptStep { what: StepContent::Said(last), .. })) =
            (&mut step.what, step.inner.last())
            && last.trim() == did.output.trim()
        {
            did.output.clear();
        }
    }
    steps
}

/// Returns the tool call, or `None` for messages and reasoning.
pub fn tool_call(item: &Item) -> Option<TranscriptToolCall> {
    let call = item.call.as_deref();
    let mut did = match &item.details {
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => return None,
        Details::Command(command) => TranscriptToolCall {
            command: Some(command.command.clone()),
            output: command.output.clone(),
            exit_code: command.exit_code.filter(|code| *code != 0),
            ..named_call(call, "command")
        },
        Details::FileChange(change) => TranscriptToolCall {
            about: change.changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>().join(", "),
            changes: change.changes.clone(),
            output: change.output.clone().filter(|_| change.changes.is_empty()).unwrap_or_default(),
            ..named_call(call, "edit")
        },
        Details::Mcp(mcp) => TranscriptToolCall {
            name: format!("{}.{}", mcp.server, mcp.tool),
            input: call_input(call),
            output: mcp.result.as_ref().map(|result| result.get().to_owned()).unwrap_or_default(),
            ..named_call(call, "mcp")
        },
        Details::WebSearch(search) => {
            TranscriptToolCall { about: search.queries.join(" · "), ..named_call(call, "web search") }
        }
        Details::Plan(plan) => TranscriptToolCall { output: plan_text(plan), ..named_call(call, "plan") },
        Details::Subagent(agent) => TranscriptToolCall {
            about: [&agent.name, &agent.label].map(String::as_str).join(" ").trim().to_owned(),
            input: agent.prompt.clone(),
            output: agent.result.clone().unwrap_or_default(),
            ..named_call(call, "agent")
        },
        Details::Tool(tool) => {
            TranscriptToolCall { input: call_input(call), output: tool.output.clone(), ..named_call(call, "tool") }
        }
        Details::Unknown(unknown) => TranscriptToolCall {
            output: unknown.raw.as_ref().map(|raw| raw.get().to_owned()).unwrap_or_default(),
            ..named_call(call, &unknown.name)
        },
    };
    did.problem = failure_text(item);
    did.duration_ms = item.duration_ms;
    Some(did)
}

fn named_call(call: Option<&Call>, otherwise: &str) -> TranscriptToolCall {
    let name = call.map_or(otherwise, |call| &call.name).to_owned();
    let place = call.and_then(|call| call.locations.first()).map(|place| place.path.clone());
    let title = call.and_then(|call| call.title.clone()).filter(|title| *title != name);
    TranscriptToolCall { name, about: place.or(title).unwrap_or_default(), ..TranscriptToolCall::default() }
}

/// Returns the call's input, unless it is empty.
fn call_input(call: Option<&Call>) -> Option<String> {
    let input = call?.input.as_deref()?.get();
    let pretty =
        serde_json::from_str::<serde_json::Value>(input).and_then(|value| serde_json::to_string_pretty(&value));
    Some(pretty.unwrap_or_else(|_| input.to_owned())).filter(|input| !matches!(input.as_str(), "{}" | "null" | ""))
}

fn plan_text(plan: &Plan) -> String {
    let line = |(step, status): (&str, PlanStatus)| {
        let mark = match status {
            PlanStatus::Pending => "[ ]",
            PlanStatus::InProgress => "[>]",
            PlanStatus::Completed => "[x]",
            PlanStatus::Failed => "[!]",
        };
        format!("{mark} {step}\n")
    };
    let steps: String = plan.entries.iter().map(|entry| line((&entry.step, entry.status))).collect();
    [steps.as_str(), plan.text.as_deref().unwrap_or_default()].join("")
}

fn failure_text(item: &Item) -> Option<String> {
    let word = match item.status {
        Status::Failed => "failed",
        Status::Declined => "declined",
        Status::Interrupted => "interrupted",
        Status::Running | Status::Completed | Status::Superseded => return None,
    };
    let mcp = match &item.details {
        Details::Mcp(mcp) => mcp.error.as_deref(),
        _ => None,
    };
    let why = item.call.as_ref().and_then(|call| call.error.as_deref()).or(mcp).map(str::trim);
    Some(why.filter(|why| !why.is_empty()).map_or_else(|| word.to_owned(), |why| format!("{word}: {why}")))
}

/// Counts turns.
#[derive(Clone, Debug, Default)]
pub struct TurnCounter {
    count: u32,
    /// The prompt of the current turn, which the agent may repeat as a message.
    expected: Option<String>,
}

impl TurnCounter {
    /// Returns the prompt if the event begins a turn.
    pub fn begin_turn(&mut self, event: &Event) -> Option<String> {
        if event.thread.is_some() || event.parent.is_some() {
            return None;
        }
        let prompt = match &event.body {
            EventBody::TurnStarted(turn) => {
                self.expected.clone_from(&turn.prompt);
                turn.prompt.clone()
            }
            EventBody::ItemCompleted(item) => match &item.details {
                Details::UserMessage(message) if !message.synthetic => {
                    let text = message.joined_text();
                    let is_new = self.expected.take_if(|expected| *expected == text).is_none();
                    is_new.then_some(text)
                }
                _ => None,
            },
            _ => None,
        };
        let prompt = prompt.filter(|prompt| !prompt.trim().is_empty())?;
        self.count += 1;
        Some(prompt)
    }

    /// Returns the number of the current turn; 0 before the first.
    #[must_use]
    pub fn turn_number(&self) -> u32 {
        self.count
    }
}
