//! Which notices are entries: some matter, some are put together and folded, and some are between host and agent alone.

use switchboard_event::{Event, Id, Level, Notice, Topic};

use super::{Kind, Line, Sheet, Stage};

/// How much a notice matters to who reads the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interest {
    /// It is shown.
    Shown,
    /// It is put together with others, and folded.
    Quiet,
    /// It is not shown.
    None,
}

/// How much a notice matters.
fn interest(notice: &Notice) -> Interest {
    let says = notice.text.as_deref().is_some_and(|text| !text.trim().is_empty()) || notice.error.is_some();
    if matches!(notice.level, Level::Warning | Level::Error) && notice.topic != Topic::Stderr {
        return Interest::Shown;
    }
    match notice.topic {
        Topic::Compaction | Topic::ModelChanged | Topic::Retry | Topic::Interrupt | Topic::Auth | Topic::Retracted => {
            Interest::Shown
        }
        Topic::RateLimit | Topic::ToolSummary if says && notice.level != Level::Debug => Interest::Shown,
        Topic::Stderr | Topic::Stdout | Topic::Hook | Topic::Task | Topic::Unknown | Topic::Late | Topic::Warning => {
            Interest::Quiet
        }
        Topic::Status if says && notice.level != Level::Debug => Interest::Quiet,
        _ => Interest::None,
    }
}

/// It is one that is put together with others.
pub(super) fn is_quiet(notice: &Notice) -> bool {
    interest(notice) == Interest::Quiet
}

impl Sheet {
    pub(super) fn noticed(&mut self, event: &Event, notice: &Notice) {
        let interest = interest(notice);
        if interest == Interest::None || (interest == Interest::Quiet && self.joins(event)) {
            return;
        }
        let mut line = Line::new(Kind::Notice, stage(notice), Id::from(format!("notice_{}", event.seq)), event);
        line.quiet = interest == Interest::Quiet;
        self.push(event, line);
    }

    /// Joins a notice to those right before it.
    fn joins(&mut self, event: &Event) -> bool {
        let Some(n) = self.len().checked_sub(1) else { return false };
        let parent = self.home_of(event);
        if !self.line(n).is_some_and(|line| line.quiet && line.parent == parent && line.turn == event.turn) {
            return false;
        }
        if let Some(line) = self.touch(n, event.seq) {
            line.count = line.count.saturating_add(1);
        }
        true
    }
}

fn stage(notice: &Notice) -> Stage {
    if notice.level == Level::Error { Stage::Failed } else { Stage::Completed }
}
