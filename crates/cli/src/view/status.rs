//! The status line: elapsed time, usage, and what the agent is doing.

use std::time::Duration;

use switchboard_event::{Event, EventBody, SessionStatus, Topic};

use super::{
    TranscriptView,
    figures::{format_duration, format_tokens},
    fold::{cut_cells, fit_cells},
    items::OpenItem,
    sanitize::sanitize_line,
};

/// The spinner, a step every tenth of a second.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The state of the session, if the agent reports it.
#[derive(Debug, Default)]
pub struct AgentStatus {
    status: Option<SessionStatus>,
    pub is_over: bool,
}

impl AgentStatus {
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            EventBody::SessionStarted(_) => self.is_over = false,
            EventBody::SessionEnded(_) => self.is_over = true,
            EventBody::SessionUpdated(updated) if updated.info.status.is_some() => self.status = updated.info.status,
            EventBody::Notice(notice) if notice.topic == Topic::Retry => self.status = Some(SessionStatus::Retrying),
            EventBody::Notice(notice) if notice.topic == Topic::Compaction => {
                let is_running = notice.status.as_deref().is_some_and(|status| status != "completed");
                self.status = is_running.then_some(SessionStatus::Compacting);
            }
            // The wait is over.
            EventBody::ItemStarted(_) | EventBody::ItemDelta(_) | EventBody::TurnStarted(_) => self.status = None,
            _ => {}
        }
    }

    fn word(&self) -> Option<&'static str> {
        match self.status? {
            SessionStatus::Compacting => Some("making the context smaller"),
            SessionStatus::Retrying => Some("waiting to try again"),
            SessionStatus::Idle | SessionStatus::Running | SessionStatus::RequiresAction => None,
        }
    }
}

impl TranscriptView {
    /// Returns the text of the status line.
    #[must_use]
    pub fn status(&self, elapsed: Duration) -> String {
        let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let step = usize::try_from(millis / 100 % 10).unwrap_or_default();
        let spinner = SPINNER.get(step).copied().unwrap_or(' ');
        let used = self.turn.tokens();
        let used = if used == 0 { String::new() } else { format!(" · {} tokens", format_tokens(used)) };
        let head = format!("{spinner} {}{used} · ", format_duration(millis));
        let columns = usize::from(self.renderer.options.width.max(20)) - 1;
        let (cells, more) = fit_cells([&*head, &*self.work()], columns);
        cut_cells(cells, more, columns).into_iter().map(|cell| cell.c).collect()
    }

    /// Describes the current work: the item that started last, and its last line of output.
    fn work(&self) -> String {
        if self.requests.are_open() {
            return "waiting for an answer".to_owned();
        }
        if let Some(word) = self.doing.word() {
            return word.to_owned();
        }
        let works = |open: &&OpenItem| open.message.is_none() && !open.doing.is_empty();
        let count = self.open.values().filter(works).count();
        if let Some(open) = self.open.values().filter(works).max_by_key(|open| open.number) {
            let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
            let printed = if open.printed.is_empty() { String::new() } else { format!(" · {}", open.printed) };
            return sanitize_line(&format!("{}{more}{printed}", open.doing));
        }
        let voice =
            self.open.values().filter(|open| open.thread.is_none()).filter_map(|open| open.message.as_ref()).last();
        match voice {
            Some(voice) if voice.is_thought() => "thinking".to_owned(),
            Some(_) => "writing".to_owned(),
            None if self.turn.is_over() => "closing".to_owned(),
            None if self.turn.has_begun() => "working".to_owned(),
            None => "starting".to_owned(),
        }
    }
}
