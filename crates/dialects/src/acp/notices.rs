//! Notices and context compactions as session updates.

use serde::{Deserialize, Serialize};
use switchboard_event::{Level, Notice, Topic};

use super::wire::{CompactionStatus, Severity, Update, text_content};

/// Returns the update for a notice; none if it only concerns host and agent.
pub fn notice_update(notice: &Notice) -> Option<Update<'_>> {
    let severity = match (notice.topic, notice.level) {
        (Topic::Stdout | Topic::Stderr | Topic::Compaction, _) | (_, Level::Debug) => return None,
        (_, Level::Error) => Severity::Error,
        (_, Level::Warning) => Severity::Warning,
        (Topic::Retry | Topic::RateLimit | Topic::ModelChanged, Level::Info) => Severity::Info,
        (_, Level::Info) if notice.error.is_some() => Severity::Warning,
        (_, Level::Info) => return None,
    };
    let fault = notice.error.as_ref().map(|fault| fault.message.as_str());
    let said = notice.text.as_deref().filter(|text| !text.is_empty());
    let title = said.or(fault).or(notice.name.as_deref()).filter(|title| !title.is_empty())?;
    Some(Update::Notice { severity, title, description: fault.filter(|fault| *fault != title) })
}

/// Number of context compactions so far, and whether one is running.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CompactionCounter {
    count: u64,
    running: bool,
}

impl CompactionCounter {
    /// Returns the update for a compaction notice.
    pub fn compaction_update<'a>(&mut self, notice: &'a Notice) -> Update<'a> {
        let status = match notice.status.as_deref() {
            Some("started" | "running" | "in_progress" | "summary") => CompactionStatus::InProgress,
            Some("failed") => CompactionStatus::Failed,
            _ => CompactionStatus::Completed,
        };
        if !self.running {
            self.count += 1;
        }
        self.running = status == CompactionStatus::InProgress;
        let said = notice.text.as_deref().filter(|said| !said.is_empty());
        let failed = status == CompactionStatus::Failed;
        Update::Compaction {
            compaction_id: format!("compaction_{}", self.count),
            status,
            summary: said.filter(|_| !failed).map(|said| vec![text_content(said)]),
            error: said.filter(|_| failed),
        }
    }
}
