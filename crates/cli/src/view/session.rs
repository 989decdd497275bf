//! A run of the session: what runs, how it ended, how to go on.

use switchboard_event::{EndReason, ErrorCode, Event, SessionEnded, SessionStarted, SessionUpdated};

use super::{
    figures::duration,
    paper::Block,
    style::{BOLD, DIM, PLAIN, RED, YELLOW},
    viewer::View,
};

impl View {
    pub(super) fn session_started(&mut self, event: &Event, started: &SessionStarted) {
        let info = &started.info;
        self.cwd = info.cwd.clone().or_else(|| started.config.working_directory.clone());
        let version = info.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let model = info.model.as_deref().or(started.config.model.as_deref());
        let about: String =
            [model, self.cwd.as_deref()].into_iter().flatten().map(|word| format!(" · {word}")).collect();
        self.begin(event, Block::Note);
        self.paper.line(0, &[(BOLD, &event.agent), (DIM, &version), (DIM, &about)]);
        // What follows is no remark on this line.
        self.paper.disown_block(Block::Prompt);
    }

    pub(super) fn session_updated(&mut self, updated: &SessionUpdated) {
        if updated.info.cwd.is_some() {
            self.cwd.clone_from(&updated.info.cwd);
        }
    }

    pub(super) fn session_ended(&mut self, event: &Event, ended: &SessionEnded) {
        self.tell_last_message();
        self.open.clear();
        if let Some(fault) = ended.error.as_ref().filter(|fault| fault.code != ErrorCode::Aborted) {
            self.problem(event, fault);
            self.advise(fault.code);
        }
        let word = match ended.reason {
            EndReason::Completed => None,
            EndReason::Failed => Some((RED, "the session failed")),
            EndReason::Cancelled => Some((YELLOW, "the session was cancelled")),
            EndReason::Timeout => Some((YELLOW, "the session took too long")),
        };
        // The turn's line said it, unless there is more to it.
        let adds = !self.turn.is_told() || ended.exit_code.is_some_and(|code| code != 0) || ended.signal.is_some();
        if let Some((style, word)) = word.filter(|_| adds) {
            self.begin(event, Block::End);
            self.paper.line(0, &[(DIM, "— "), (style, word), (DIM, &particulars(ended))]);
        }
        if self.paper.options.resume && !self.paper.options.quiet {
            self.begin(event, Block::End);
            let command = format!("switchboard run --resume {} \"…\"", event.session);
            self.paper.line(0, &[(DIM, "  go on with: "), (PLAIN, &command)]);
        }
    }
}

/// Exit code, signal and time.
fn particulars(ended: &SessionEnded) -> String {
    let code = ended.exit_code.filter(|code| *code != 0).map(|code| format!("exit code {code}"));
    let signal = ended.signal.map(|signal| format!("signal {signal}"));
    let took = (ended.duration_ms > 0).then(|| duration(ended.duration_ms));
    [code, signal, took].into_iter().flatten().map(|word| format!(" · {word}")).collect()
}
