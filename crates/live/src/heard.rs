//! What an agent did, as Switchboard tells it, and the questions that scenarios have about it.

use anyhow::{Context as _, anyhow, ensure};
use switchboard_event::{
    Body, Change, Command, Details, EndReason, Event, Item, RequestResolved, SessionEnded, Status, TurnCompleted, Usage,
};
use switchboard_testkit::{
    ledger::{Ledger, Reuse},
    model::Request,
    stage::Ended,
};

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

    /// It ended with this exit code and for this reason, and everything that began has ended.
    pub fn ends(&self, code: i32, reason: EndReason) -> anyhow::Result<&SessionEnded> {
        let session = self.session()?;
        ensure!(self.ended.code == Some(code), "not exit code {code}: {session:?}\n{}", self.ended.shown());
        ensure!(session.reason == reason, "not {reason:?}: {session:?}\n{}", self.ended.shown());
        self.is_closed()?;
        Ok(session)
    }

    /// Everything that began has ended. Only the first run of a session can be looked at so.
    pub fn is_closed(&self) -> anyhow::Result<()> {
        if self.events.first().is_some_and(|first| first.seq > 1) {
            return Ok(());
        }
        let mut ledger = Ledger::new(Reuse::InAnotherReply);
        // The records themselves are not known here.
        let events = self.events.iter().map(|event| Event { native: None, cause: None, ..event.clone() });
        let seen = { events }.try_for_each(|event| ledger.see(&event)).and_then(|()| ledger.finish());
        seen.map_err(|broken| anyhow!("{broken}\n{}", self.ended.shown()))
    }

    /// All that the agent thought.
    pub fn thoughts(&self) -> String {
        let thought = self.items().filter_map(|item| match &item.details {
            Details::Reasoning(reasoning) => reasoning.text.clone().or_else(|| reasoning.summary.clone()),
            _ => None,
        });
        thought.collect()
    }

    /// What became of what the agent asked.
    pub fn resolutions(&self) -> Vec<&RequestResolved> {
        let resolved = self.events.iter().filter_map(|event| match &event.body {
            Body::RequestResolved(resolved) => Some(&**resolved),
            _ => None,
        });
        resolved.collect()
    }

    /// What Switchboard or the agent remarked.
    pub fn notices(&self) -> String {
        let remarks = self.events.iter().filter_map(|event| match &event.body {
            Body::Notice(notice) => notice.text.clone(),
            _ => None,
        });
        remarks.collect::<Vec<_>>().join("\n")
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

/// The lines that are there to their end.
pub fn complete(printed: &str) -> impl Iterator<Item = &str> {
    printed.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}
