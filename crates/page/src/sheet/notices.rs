//! Decides which notices become entries: some are shown, some are joined and folded, and some concern only host and
//! agent.

use switchboard_event::{Event, Id, Level, Notice, Topic};

use super::{EntryKind, EntryRecord, EntryStage, Timeline};

/// The relevance of a notice to readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoticeInterest {
    Shown,
    /// Joined with others and folded.
    Quiet,
    /// Not shown.
    None,
}

fn interest(notice: &Notice) -> NoticeInterest {
    let says = notice.text.as_deref().is_some_and(|text| !text.trim().is_empty()) || notice.error.is_some();
    if matches!(notice.level, Level::Warning | Level::Error) && notice.topic != Topic::Stderr {
        return NoticeInterest::Shown;
    }
    match notice.topic {
        Topic::Compaction | Topic::ModelChanged | Topic::Retry | Topic::Interrupt | Topic::Auth | Topic::Retracted => {
            NoticeInterest::Shown
        }
        Topic::RateLimit | Topic::ToolSummary if says && notice.level != Level::Debug => NoticeInterest::Shown,
        Topic::Stderr | Topic::Stdout | Topic::Hook | Topic::Task | Topic::Unknown | Topic::Late | Topic::Warning => {
            NoticeInterest::Quiet
        }
        Topic::Status if says && notice.level != Level::Debug => NoticeInterest::Quiet,
        _ => NoticeInterest::None,
    }
}

/// Returns whether a notice is joined with others.
pub(super) fn is_quiet(notice: &Notice) -> bool {
    interest(notice) == NoticeInterest::Quiet
}

impl Timeline {
    pub(super) fn noticed(&mut self, event: &Event, notice: &Notice) {
        let interest = interest(notice);
        if interest == NoticeInterest::None || (interest == NoticeInterest::Quiet && self.joins(event)) {
            return;
        }
        let mut line =
            EntryRecord::new(EntryKind::Notice, stage(notice), Id::from(format!("notice_{}", event.seq)), event);
        line.quiet = interest == NoticeInterest::Quiet;
        self.push(event, line);
    }

    /// Joins a notice to the quiet notices right before it. Returns whether there were any.
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

fn stage(notice: &Notice) -> EntryStage {
    if notice.level == Level::Error { EntryStage::Failed } else { EntryStage::Completed }
}
