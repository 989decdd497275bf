//! Builds a document from events.

use std::{borrow::Borrow, collections::HashMap};

use switchboard_event::{
    Details, Event, EventBody, Id, Item, Level, Notice, Reasoning, Status, Stop, Topic, TurnCompleted, TurnStatus,
};

use super::{StepContent, TranscriptDocument, TranscriptStep, TranscriptTurn, TurnCounter, tool};

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
        let (Some(id), Some(did)) = (event.item.clone(), tool::tool_call(item)) else { return };
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
            _ => match tool::tool_call(item) {
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
