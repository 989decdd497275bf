//! Notices that details to a person, failures with hints, and requests that were declined or expired.

use std::collections::{HashMap, HashSet};

use switchboard_event::{
    Decider, ErrorCode, Event, Fault, Id, Level, Notice, Outcome, RequestOpened, RequestResolved, Topic,
};

use super::{
    TranscriptView,
    renderer::BlockKind,
    style::{DIM, PLAIN, RED, YELLOW},
    tool_calls::unwrap_shell,
};

/// Lines shown at the beginning and at the end of an error message.
const MESSAGE_LINES: (usize, usize) = (6, 4);

impl TranscriptView {
    pub(super) fn notice(&mut self, event: &Event, notice: &Notice) {
        let text = notice.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        match (notice.topic, notice.level) {
            (_, Level::Debug) => {}
            (Topic::Heartbeat | Topic::Control | Topic::Echo | Topic::Late | Topic::Interrupt, Level::Info) => {}
            (_, Level::Error) => self.failed(event, notice, text),
            (Topic::Retry, _) => self.warn(event, text.unwrap_or("a call of the model failed and is tried again")),
            (Topic::RateLimit, _) => self.limited(event, notice, text),
            (Topic::Hook, _) if notice.status.as_deref() == Some("failed") => {
                let name = notice.name.as_deref().unwrap_or_default();
                self.warn(event, &format!("hook {name} failed: {}", text.unwrap_or("no reason given")));
            }
            (Topic::Compaction, _) if notice.status.as_deref().is_none_or(|status| status == "completed") => {
                self.remark(event, "context compacted");
            }
            (Topic::Compaction, _) => {}
            (Topic::ModelChanged, _) => self.model_changed(event, notice, text),
            (Topic::Task, _) => self.task(event, notice, text),
            (_, Level::Warning) => {
                if let Some(text) = text.or(notice.error.as_ref().map(|error| error.message.as_str())) {
                    self.warn(event, text);
                }
            }
            (Topic::Auth | Topic::Status | Topic::Warning, Level::Info) => {
                if let Some(text) = text {
                    self.remark(event, text);
                }
            }
            _ => {}
        }
    }

    fn failed(&mut self, event: &Event, notice: &Notice, text: Option<&str>) {
        let made = || Fault::new(ErrorCode::Unknown, text.unwrap_or("something went wrong"));
        self.problem(event, &notice.error.clone().unwrap_or_else(made));
    }

    /// Shows a warning, once per turn.
    fn warn(&mut self, event: &Event, text: &str) {
        if self.requests.will_report(text) || !self.turn.report_once(text) {
            return;
        }
        self.begin(event, BlockKind::Problem);
        let folded = self.fold(text, 4, 0);
        for (number, line) in folded.head.iter().enumerate() {
            let (indent, mark) = if number == 0 { (0, "! ") } else { (2, "") };
            self.renderer.rows(indent, 3, &[(YELLOW, mark), (PLAIN, line)]);
        }
        self.show_more(2, folded.more);
    }

    fn limited(&mut self, event: &Event, notice: &Notice, text: Option<&str>) {
        let status = notice.status.as_deref().unwrap_or("allowed");
        match (text, status) {
            (Some(text), _) => self.warn(event, text),
            (None, "allowed") => {}
            (None, "rejected") => self.warn(event, "the account's rate limit is reached"),
            (None, _) => self.warn(event, "the account's rate limit is near"),
        }
    }

    fn model_changed(&mut self, event: &Event, notice: &Notice, text: Option<&str>) {
        let name = notice.name.as_deref().unwrap_or("another");
        match (text, notice.level) {
            (Some(text), Level::Info) => self.remark(event, text),
            (Some(text), _) => self.warn(event, text),
            (None, _) => self.remark(event, &format!("the model is {name} now")),
        }
    }

    /// Shows the end of background work, unless its item is open and will show it.
    fn task(&mut self, event: &Event, notice: &Notice, text: Option<&str>) {
        let is_open = event.item.as_ref().is_some_and(|id| self.open.contains_key(id));
        let is_over = notice.status.as_deref().is_some_and(|status| !matches!(status, "started" | "running"));
        if let (false, true, Some(text)) = (is_open, is_over, text) {
            self.begin(event, BlockKind::Note);
            self.renderer.rows(0, 3, &[(DIM, "· "), (PLAIN, text)]);
        }
    }
}

/// Returns what a person can do about a failure.
fn failure_hint(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::ProviderAuth => {
            "log in with the agent's own program, or set its key; `switchboard agents` shows which are logged in"
        }
        ErrorCode::RateLimit => "wait a little, or name another model with --model",
        ErrorCode::Quota => "the account behind the agent has no credit left",
        ErrorCode::ModelNotFound => "name another model with --model",
        ErrorCode::ContextOverflow => "begin a new session, or a smaller task",
        ErrorCode::MaxTurns => "allow more with --max-turns, or go on with --resume",
        ErrorCode::ConnectionFailed => "is the network there, and a proxy set where one is needed?",
        ErrorCode::SessionNotFound => "begin a new session without --resume",
        ErrorCode::Timeout => "give it longer with --timeout",
        ErrorCode::ApiError
        | ErrorCode::OutputLength
        | ErrorCode::Refused
        | ErrorCode::MaxBudget
        | ErrorCode::Aborted
        | ErrorCode::PermissionDenied
        | ErrorCode::ToolFailed
        | ErrorCode::ProtocolError
        | ErrorCode::ExecutionError
        | ErrorCode::Unknown => return None,
    })
}

impl TranscriptView {
    /// Shows a failure, unless it was shown in this turn.
    pub(super) fn problem(&mut self, event: &Event, fault: &Fault) {
        if !self.turn.report_once(&fault.message) {
            return;
        }
        self.begin(event, BlockKind::Problem);
        let status = fault.http_status.filter(|status| !fault.message.contains(&status.to_string()));
        let status = status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        let folded = self.fold(fault.message.trim(), MESSAGE_LINES.0, MESSAGE_LINES.1);
        let first = folded.head.first().copied().unwrap_or("something went wrong");
        self.renderer.rows(0, 4, &[(RED, "✗ "), (PLAIN, first), (DIM, &status)]);
        folded.head.iter().skip(1).for_each(|line| self.renderer.rows(2, 2, &[(PLAIN, line)]));
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.renderer.rows(2, 2, &[(PLAIN, line)]));
    }

    pub(super) fn advise(&mut self, code: ErrorCode) {
        if let Some(hint) = failure_hint(code).filter(|hint| self.turn.report_once(hint)) {
            self.renderer.rows(2, 3, &[(DIM, "hint: "), (PLAIN, hint)]);
        }
    }
}

/// Requests that are not answered in place: what they are about, and their outcome.
#[derive(Debug, Default)]
pub struct TurnRequests {
    /// The description of each open request, and the agent's title of it.
    open: HashMap<Id, (String, String)>,
    /// Items that were shown as declined.
    reported: HashSet<Id>,
    /// Items whose content the user saw and approved.
    shown: HashSet<Id>,
}

impl TurnRequests {
    /// Returns whether this item was shown as declined.
    pub fn was_reported(&self, item: &Id) -> bool {
        self.reported.contains(item)
    }

    /// Returns whether the user saw this item's content and approved it.
    pub fn was_shown(&self, item: &Id) -> bool {
        self.shown.contains(item)
    }

    pub fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns whether a text is about an open request, whose outcome will be shown.
    fn will_report(&self, text: &str) -> bool {
        self.open.values().any(|(_, title)| !title.is_empty() && text.ends_with(title))
    }

    pub fn forget(&mut self) {
        (self.reported, self.shown) = (HashSet::new(), HashSet::new());
    }
}

impl TranscriptView {
    pub(super) fn request_opened(&mut self, _: &Event, request: &RequestOpened) {
        let what = match &request.command {
            Some(command) => format!("$ {}", unwrap_shell(command)),
            None => format!("→ {}", request.title),
        };
        self.requests.open.insert(request.request.clone(), (what, request.title.clone()));
    }

    pub(super) fn request_resolved(&mut self, event: &Event, resolved: &RequestResolved) {
        let (what, _) = self.requests.open.remove(&resolved.request).unwrap_or_default();
        let (word, after) = match resolved.outcome {
            Outcome::Declined => ("declined", ""),
            Outcome::Cancelled => ("declined", ", and the turn stopped"),
            Outcome::Expired => ("not answered in time, so declined", ""),
            Outcome::Allowed | Outcome::Answered | Outcome::Withdrawn => {
                if let (Outcome::Allowed, Decider::Client, Some(id)) = (resolved.outcome, resolved.by, &event.item) {
                    self.requests.shown.insert(id.clone());
                }
                return;
            }
        };
        let by = match resolved.by {
            Decider::Client => " by you",
            Decider::Policy => " automatically",
            Decider::Timeout | Decider::Agent | Decider::Switchboard => "",
        };
        let why = resolved.message.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let is_owned = event.item.as_ref().is_some_and(|id| self.renderer.is_owned(id));
        if !is_owned {
            self.begin(event, BlockKind::Problem);
            self.renderer.rows(0, 4, &[(PLAIN, &what)]);
        }
        self.renderer.rows(2, 4, &[(YELLOW, "✗ "), (YELLOW, word), (YELLOW, by), (YELLOW, after), (PLAIN, &why)]);
        self.requests.reported.extend(event.item.clone());
    }
}
