//! Events made into a story.

use std::{borrow::Borrow, collections::HashMap};

use switchboard_event::{
    Body, Details, Event, Id, Item, Level, Notice, Reasoning, Status, Stop, Topic, TurnCompleted, TurnStatus,
};

use super::{Step, Story, Turn, Turns, What, tool};

/// What is being built: steps lie flat, each with the one that it belongs to, until all are there.
#[derive(Default)]
struct Builder {
    turns: Vec<Turn>,
    numbers: Turns,
    steps: Vec<Flat>,
    /// Where the steps are in which subagents work: by the item, and by the thread.
    homes: HashMap<Id, usize>,
}

struct Flat {
    turn: usize,
    within: Option<usize>,
    step: Step,
}

impl Story {
    /// The story that events tell. Its title and what is known of it are for the caller to say.
    #[must_use]
    pub fn of(events: impl IntoIterator<Item = impl Borrow<Event>>) -> Self {
        let mut builder = Builder::default();
        events.into_iter().for_each(|event| builder.see(event.borrow()));
        builder.finish()
    }
}

impl Builder {
    fn see(&mut self, event: &Event) {
        if let Some(prompt) = self.numbers.begins(event) {
            let number = self.numbers.number();
            self.turns.push(Turn { number, at: Some(event.at), prompt: Some(prompt), ..Turn::default() });
        }
        match &event.body {
            Body::ItemStarted(item) => self.home(event, item),
            Body::ItemCompleted(item) => self.completed(event, item),
            Body::Usage(usage) if !usage.cumulative => self.turn().usage.add(usage),
            Body::TurnCompleted(turn) if event.thread.is_none() => self.ended(turn),
            Body::Notice(notice) => self.noticed(event, notice),
            _ => {}
        }
    }

    /// The turn that it is; one without a prompt, if nobody has asked anything.
    fn turn(&mut self) -> &mut Turn {
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        let last = self.turns.len() - 1;
        &mut self.turns[last]
    }

    fn push(&mut self, event: &Event, what: What) -> usize {
        self.turn();
        let within = self.within(event);
        let turn = within.and_then(|at| self.steps.get(at)).map_or(self.turns.len() - 1, |flat| flat.turn);
        self.steps.push(Flat { turn, within, step: Step { at: event.at, what, inner: Vec::new() } });
        self.steps.len() - 1
    }

    /// The step in which the subagent works whose event this is.
    fn within(&self, event: &Event) -> Option<usize> {
        let known = |id: &Option<Id>| id.as_ref().and_then(|id| self.homes.get(id)).copied();
        known(&event.parent).or_else(|| known(&event.thread))
    }

    /// A subagent begins: what it does comes before its call is finished.
    fn home(&mut self, event: &Event, item: &Item) {
        if !matches!(item.details, Details::Subagent(_)) {
            return;
        }
        let (Some(id), Some(did)) = (event.item.clone(), tool::did(item)) else { return };
        let at = self.push(event, What::Did(Box::new(did)));
        self.homes.insert(id, at);
        self.thread(item, at);
    }

    /// The thread may be told late.
    fn thread(&mut self, item: &Item, at: usize) {
        if let Details::Subagent(agent) = &item.details
            && let Some(thread) = &agent.thread
        {
            self.homes.insert(thread.clone(), at);
        }
    }

    fn completed(&mut self, event: &Event, item: &Item) {
        if item.status == Status::Superseded {
            return;
        }
        let what = match &item.details {
            Details::AgentMessage(message) => What::Said(message.text.clone()),
            Details::Reasoning(Reasoning { text, summary, .. }) => {
                let text = text.as_ref().filter(|text| !text.trim().is_empty()).or(summary.as_ref());
                What::Thought(text.cloned().unwrap_or_default())
            }
            _ => match tool::did(item) {
                Some(did) => What::Did(Box::new(did)),
                None => return,
            },
        };
        if matches!(&what, What::Said(text) | What::Thought(text) if text.trim().is_empty()) {
            return;
        }
        let known = event.item.as_ref().and_then(|id| self.homes.get(id)).copied();
        match known.and_then(|at| Some((at, self.steps.get_mut(at)?))) {
            Some((at, flat)) => {
                flat.step.what = what;
                self.thread(item, at);
            }
            None => drop(self.push(event, what)),
        }
    }

    fn noticed(&mut self, event: &Event, notice: &Notice) {
        let text = notice.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let matters = matches!(notice.level, Level::Warning | Level::Error);
        let text = match notice.topic {
            Topic::Compaction => Some("context compacted"),
            Topic::ModelChanged | Topic::Retry => text,
            _ if matters => text,
            _ => None,
        };
        if let Some(text) = text {
            self.push(event, What::Note(text.to_owned()));
        }
    }

    fn ended(&mut self, completed: &TurnCompleted) {
        let turn = self.turn();
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

    /// The steps into their places, the last first, so that each is whole before it is put into another.
    fn finish(mut self) -> Story {
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
        let mut story = Story { turns: self.turns, ..Story::default() };
        story.turns.iter_mut().for_each(|turn| turn.steps = in_order(std::mem::take(&mut turn.steps)));
        story.turns.iter().for_each(|turn| story.usage.add(&turn.usage));
        story
    }
}

/// They were put in from the last to the first.
fn in_order(mut steps: Vec<Step>) -> Vec<Step> {
    steps.reverse();
    for step in &mut steps {
        step.inner = in_order(std::mem::take(&mut step.inner));
        // What a subagent said last is its answer.
        if let (What::Did(did), Some(Step { what: What::Said(last), .. })) = (&mut step.what, step.inner.last())
            && last.trim() == did.output.trim()
        {
            did.output.clear();
        }
    }
    steps
}
