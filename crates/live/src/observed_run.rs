//! The events of an agent run, and the checks that scenarios make on them.

use anyhow::{Context as _, anyhow, ensure};
use switchboard_event::{
    Change, Command, Details, EndReason, Event, EventBody, Item, RequestResolved, SessionEnded, Status, TurnCompleted,
    Usage,
};
use switchboard_testkit::ledger::{IdReuse, SessionInvariants};
use switchboard_testkit::model::RecordedModelRequest;
use switchboard_testkit::stage::StageProcessOutput;

pub struct ObservedRun {
    pub events: Vec<Event>,
    /// The end of the program that printed the events.
    pub ended: StageProcessOutput,
}

impl ObservedRun {
    /// Parses events, one per line.
    pub fn from_lines(lines: &str, ended: StageProcessOutput) -> anyhow::Result<Self> {
        let event = |line: &str| Event::from_json(line).with_context(|| format!("no event: {line}"));
        Ok(Self { events: lines.lines().map(event).collect::<Result<_, _>>()?, ended })
    }

    /// Returns the completed items, without those of subagents.
    fn completed_items(&self) -> impl Iterator<Item = &Item> {
        self.events.iter().filter(|event| event.thread.is_none()).filter_map(|event| match &event.body {
            EventBody::ItemCompleted(item) => Some(&**item),
            _ => None,
        })
    }

    /// Checks exit code and reason, and that everything that began has ended.
    pub fn check_end(&self, code: i32, reason: EndReason) -> anyhow::Result<&SessionEnded> {
        let session = self.session_end()?;
        ensure!(self.ended.code == Some(code), "not exit code {code}: {session:?}\n{}", self.ended.describe_output());
        ensure!(session.reason == reason, "not {reason:?}: {session:?}\n{}", self.ended.describe_output());
        self.check_closed()?;
        Ok(session)
    }

    /// Checks that everything that began has ended. This is possible only for the first run of a session.
    pub fn check_closed(&self) -> anyhow::Result<()> {
        if self.events.first().is_some_and(|first| first.seq > 1) {
            return Ok(());
        }
        let mut ledger = SessionInvariants::new(IdReuse::InAnotherReply);
        // The native records are not known here.
        let events = self.events.iter().map(|event| Event { native: None, cause: None, ..event.clone() });
        let seen = { events }.try_for_each(|event| ledger.check_event(&event)).and_then(|()| ledger.finish());
        seen.map_err(|broken| anyhow!("{broken}\n{}", self.ended.describe_output()))
    }

    pub fn reasoning_text(&self) -> String {
        let thought = self.completed_items().filter_map(|item| match &item.details {
            Details::Reasoning(reasoning) => reasoning.text.clone().or_else(|| reasoning.summary.clone()),
            _ => None,
        });
        thought.collect()
    }

    pub fn request_resolutions(&self) -> Vec<&RequestResolved> {
        let resolved = self.events.iter().filter_map(|event| match &event.body {
            EventBody::RequestResolved(resolved) => Some(&**resolved),
            _ => None,
        });
        resolved.collect()
    }

    pub fn notice_text(&self) -> String {
        let remarks = self.events.iter().filter_map(|event| match &event.body {
            EventBody::Notice(notice) => notice.text.clone(),
            _ => None,
        });
        remarks.collect::<Vec<_>>().join("\n")
    }

    /// Returns all text of the agent, without reasoning.
    pub fn agent_text(&self) -> String {
        let said = self.completed_items().filter_map(|item| match &item.details {
            Details::AgentMessage(message) => Some(message.text.as_str()),
            _ => None,
        });
        said.collect()
    }

    pub fn command_items(&self) -> Vec<(Status, &Command)> {
        let commands = self.completed_items().filter_map(|item| match &item.details {
            Details::Command(command) => Some((item.status, command)),
            _ => None,
        });
        commands.collect()
    }

    /// Returns the changed files, including changes that failed.
    pub fn file_changes(&self) -> Vec<(Status, &Change)> {
        let changes = self.completed_items().filter_map(|item| match &item.details {
            Details::FileChange(change) => Some(change.changes.iter().map(|change| (item.status, change))),
            _ => None,
        });
        changes.flatten().collect()
    }

    /// Returns the end of the last turn.
    pub fn last_turn(&self) -> anyhow::Result<&TurnCompleted> {
        let turns = self.events.iter().rev().find_map(|event| match &event.body {
            EventBody::TurnCompleted(turn) => Some(&**turn),
            _ => None,
        });
        turns.with_context(|| format!("no turn ended\n{}", self.ended.describe_output()))
    }

    /// Returns the end of the run.
    pub fn session_end(&self) -> anyhow::Result<&SessionEnded> {
        let ended = self.events.iter().rev().find_map(|event| match &event.body {
            EventBody::SessionEnded(ended) => Some(&**ended),
            _ => None,
        });
        ended.with_context(|| format!("the session did not end\n{}", self.ended.describe_output()))
    }

    pub fn total_usage(&self) -> Usage {
        let mut sum = Usage::default();
        for event in &self.events {
            if let EventBody::Usage(usage) = &event.body
                && !usage.cumulative
            {
                sum.add(usage);
            }
        }
        sum
    }

    /// Checks that the reported usage equals the model's.
    pub fn check_usage(&self, requests: &[RecordedModelRequest]) -> anyhow::Result<()> {
        let said = requests.iter().filter_map(|request| request.answer.as_ref()).map(|answer| answer.usage);
        let said = said.fold((0, 0, 0, 0), |sum, usage| {
            let (input, output) = (sum.0 + usage.input, sum.3 + usage.output);
            (input, sum.1 + usage.cache_read, sum.2 + usage.cache_write, output)
        });
        let usage = self.total_usage();
        let observed = (usage.input, usage.cache_read, usage.cache_write(), usage.output);
        ensure!(
            observed == said,
            "input, cache read, cache write, output: heard {observed:?}, the model said {said:?}"
        );
        Ok(())
    }
}

/// Returns the lines that end with a newline.
pub fn complete_lines(printed: &str) -> impl Iterator<Item = &str> {
    printed.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}
