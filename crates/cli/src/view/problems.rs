//! What went wrong, said once, and what a person can do about it.

use switchboard_event::{ErrorCode, Event, Fault};

use super::{
    paper::Block,
    style::{DIM, PLAIN, RED},
    viewer::View,
};

/// Lines of a message that are shown.
const LINES: (usize, usize) = (6, 4);

/// What a person can do about a failure.
pub fn hint(code: ErrorCode) -> Option<&'static str> {
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

impl View {
    /// Shows a failure, unless it was shown in this turn.
    pub(super) fn problem(&mut self, event: &Event, fault: &Fault) {
        if !self.turn.tells(&fault.message) {
            return;
        }
        self.begin(event, Block::Problem);
        let status = fault.http_status.filter(|status| !fault.message.contains(&status.to_string()));
        let status = status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        let folded = self.fold(fault.message.trim(), LINES.0, LINES.1);
        let first = folded.head.first().copied().unwrap_or("something went wrong");
        self.paper.rows(0, 4, &[(RED, "✗ "), (PLAIN, first), (DIM, &status)]);
        folded.head.iter().skip(1).for_each(|line| self.paper.rows(2, 2, &[(PLAIN, line)]));
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.paper.rows(2, 2, &[(PLAIN, line)]));
    }

    /// Shows what can be done about a failure.
    pub(super) fn advise(&mut self, code: ErrorCode) {
        if let Some(hint) = hint(code).filter(|hint| self.turn.tells(hint)) {
            self.paper.rows(2, 3, &[(DIM, "hint: "), (PLAIN, hint)]);
        }
    }
}
