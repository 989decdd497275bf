//! What is worth knowing beside the conversation: warnings, and that the context is made smaller.

use serde::{Deserialize, Serialize};
use switchboard_event::{Level, Notice, Topic};

use super::wire::{CompactionStatus, Severity, Update, text};

/// Something to know; none for what concerns nobody but host and agent.
pub fn notice(notice: &Notice) -> Option<Update<'_>> {
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

/// How often the context was made smaller, and whether it is just now.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Compactions {
    count: u64,
    running: bool,
}

impl Compactions {
    /// What a notice about it means.
    pub fn see<'a>(&mut self, notice: &'a Notice) -> Update<'a> {
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
            summary: said.filter(|_| !failed).map(|said| vec![text(said)]),
            error: said.filter(|_| failed),
        }
    }
}
