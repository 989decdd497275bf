//! What an agent did, as Switchboard tells it, and the questions that scenarios have about it.

use anyhow::{Context as _, ensure};
use switchboard_event::{Body, Change, Command, Details, Event, Item, SessionEnded, Status, TurnCompleted, Usage};
use switchboard_testkit::{model::Request, stage::Ended};

/// What an agent did.
pub struct Heard {
    /// What happened.
    pub events: Vec<Event>,
    /// How the program ended that told it.
    pub ended: Ended,
}

impl Heard {
    /// What is told by events, one a line.
    pub fn new(lines: &str, ended: Ended) -> anyhow::Result<Self> {
        let event = |line: &str| Event::from_json(line).with_context(|| format!("no event: {line}"));
        Ok(Self { events: lines.lines().map(event).collect::<Result<_, _>>()?, ended })
    }

    /// The items that are finished, those of subagents aside.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.events.iter().filter(|event| event.thread.is_none()).filter_map(|event| match &event.body {
            Body::ItemCompleted(item) => Some(&**item),
            _ => None,
        })
    }

    /// All that the agent said, without thoughts.
    pub fn text(&self) -> String {
        let said = self.items().filter_map(|item| match &item.details {
            Details::AgentMessage(message) => Some(message.text.as_str()),
            _ => None,
        });
        said.collect()
    }

    /// The commands that ran.
    pub fn commands(&self) -> Vec<(Status, &Command)> {
        let commands = self.items().filter_map(|item| match &item.details {
            Details::Command(command) => Some((item.status, command)),
            _ => None,
        });
        commands.collect()
    }

    /// The files that were changed.
    pub fn changes(&self) -> Vec<&Change> {
        let changes = self.items().filter_map(|item| match &item.details {
            Details::FileChange(change) => Some(&change.changes),
            _ => None,
        });
        changes.flatten().collect()
    }

    /// How the last turn ended.
    pub fn turn(&self) -> anyhow::Result<&TurnCompleted> {
        let turns = self.events.iter().rev().find_map(|event| match &event.body {
            Body::TurnCompleted(turn) => Some(&**turn),
            _ => None,
        });
        turns.with_context(|| format!("no turn ended\n{}", self.ended.shown()))
    }

    /// How the run ended.
    pub fn session(&self) -> anyhow::Result<&SessionEnded> {
        let ended = self.events.iter().rev().find_map(|event| match &event.body {
            Body::SessionEnded(ended) => Some(&**ended),
            _ => None,
        });
        ended.with_context(|| format!("the session did not end\n{}", self.ended.shown()))
    }

    /// What was used in all.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for event in &self.events {
            if let Body::Usage(usage) = &event.body
                && !usage.cumulative
            {
                sum.add(usage);
            }
        }
        sum
    }

    /// What was used is what the model says that it used.
    pub fn is_what_the_model_used(&self, requests: &[Request]) -> anyhow::Result<()> {
        let said = requests.iter().filter_map(|request| request.answer.as_ref()).map(|answer| answer.usage);
        let said = said.fold((0, 0, 0, 0), |sum, usage| {
            let (input, output) = (sum.0 + usage.input, sum.3 + usage.output);
            (input, sum.1 + usage.cache_read, sum.2 + usage.cache_write, output)
        });
        let usage = self.usage();
        let heard = (usage.input, usage.cache_read, usage.cache_write(), usage.output);
        ensure!(heard == said, "input, cache read, cache write, output: heard {heard:?}, the model said {said:?}");
        Ok(())
    }
}
