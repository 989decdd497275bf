//! What is said about a session as a whole: its title, whether it works, what went wrong with it.

use switchboard_event::{ErrorCode, Info, Level, Notice, SessionStatus, Topic, raw};

use super::{bus::Bus, errors, sessions};
use crate::{Object, Scribe};

impl Bus {
    /// `session.updated`: always all of it.
    pub(super) fn session_updated(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let info = fields.object("info");
        if !self.main {
            return;
        }
        let revert = info.raw("revert");
        if revert.is_some() != self.reverted {
            self.reverted = revert.is_some();
            let (topic, status) =
                if self.reverted { (Topic::Retracted, "reverted") } else { (Topic::Control, "restored") };
            let notice = Notice::new(topic).with_name("session.revert").with_status(status);
            scribe.notice(Notice { detail: revert, ..notice });
        }
        scribe.info(sessions::about(&info));
    }

    /// `session.status`: busy, idle, or waiting to try again.
    pub(super) fn session_status(&mut self, status: &Object<'_>, scribe: &mut Scribe) {
        match status.str("type").as_deref() {
            Some("idle") => self.session_idle(scribe),
            Some("busy") => self.session_busy(scribe),
            Some("retry") => self.session_retry(status, scribe),
            _ => {}
        }
    }

    fn session_busy(&mut self, scribe: &mut Scribe) {
        if self.main {
            self.turn.busy(false);
            let status = if self.compacting { SessionStatus::Compacting } else { SessionStatus::Running };
            doing(status, scribe);
        }
    }

    /// Idle, said twice: by `session.status` and by the older `session.idle`.
    pub(super) fn session_idle(&mut self, scribe: &mut Scribe) {
        if self.main {
            if self.stopped && scribe.in_turn() {
                self.turn.abandoned();
            }
            self.turn.rest();
            self.compacting = false;
            self.rest(scribe);
        }
    }

    /// The session rests: the turn is over, unless its last reply is not complete. Until then a session takes no
    /// prompt (OpenCode 1.18.33 forgets it), and is not called idle.
    pub(super) fn rest(&mut self, scribe: &mut Scribe) {
        self.settle(scribe);
        if !scribe.in_turn() {
            doing(SessionStatus::Idle, scribe);
        }
    }

    fn session_retry(&mut self, status: &Object<'_>, scribe: &mut Scribe) {
        let fault = errors::retried(&status.str("message").unwrap_or_default());
        let detail = Retry { attempt: status.u64("attempt"), next: status.u64("next") };
        let notice = Notice::new(Topic::Retry).with_level(Level::Warning).with_text(fault.message.clone());
        scribe.notice(Notice { error: Some(fault), detail: Some(raw(&detail)), ..notice });
        if self.main {
            self.turn.busy(true);
            doing(SessionStatus::Retrying, scribe);
        }
    }

    /// `session.error`. In a turn it is told when the turn ends, and only if that is the end of it: OpenCode goes on
    /// after a context that overflowed, with a smaller one.
    pub(super) fn session_error(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let Some(fault) = fields.get("error").map(errors::fault) else { return };
        if self.main && !scribe.in_turn() && self.turn.failed_of(&fault.message) {
            // A prompt that fails is said to fail once more, with all that led to it.
            return scribe.notice(Notice::new(Topic::Echo).with_level(Level::Debug).with_name("session.error"));
        }
        if self.main
            && !scribe.in_turn()
            && let Some(prompt) = self.posted.lost()
        {
            return self.turn.refused(&prompt, fault, scribe);
        }
        if fault.code == ErrorCode::Aborted {
            if self.main {
                scribe.interrupted();
            }
            scribe.notice(Notice::new(Topic::Interrupt).with_text(fault.message.clone()));
        } else if !self.main || !scribe.in_turn() || fault.code == ErrorCode::ContextOverflow {
            let notice = Notice::new(Topic::Warning).with_level(Level::Error).with_text(fault.message.clone());
            scribe.notice(Notice { error: Some(fault.clone()), ..notice });
        }
        if self.main && scribe.in_turn() {
            self.turn.fault = Some(fault);
        }
    }

    /// `session.compacted`.
    pub(super) fn session_compacted(&mut self, scribe: &mut Scribe) {
        let notice = Notice::new(Topic::Compaction).with_status("completed");
        scribe.notice(Notice { text: self.summary.take(), ..notice });
        if self.main {
            self.compacting = false;
        }
    }

    /// `session.deleted`: whatever was going on in it has no end.
    pub(super) fn session_deleted(&mut self, scribe: &mut Scribe) {
        if self.main && scribe.in_turn() {
            scribe.interrupted();
        }
    }
}

/// What the conversation is doing.
pub fn doing(status: SessionStatus, scribe: &mut Scribe) {
    scribe.info(Info { status: Some(status), ..Info::default() });
}

#[derive(serde::Serialize)]
struct Retry {
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}
