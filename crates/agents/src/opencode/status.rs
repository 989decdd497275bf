//! Events about a session as a whole: its title, its status and its errors.

use switchboard_event::{ErrorCode, Info, Level, Notice, SessionStatus, Topic, to_raw_json};

use super::{bus::Bus, errors, sessions};
use crate::{JsonObject, RunRecorder};

impl Bus {
    /// `session.updated`: always the whole session.
    pub(super) fn session_updated(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let info = fields.get_object("info");
        if !self.main {
            return;
        }
        let revert = info.get_raw("revert");
        if revert.is_some() != self.reverted {
            self.reverted = revert.is_some();
            let (topic, status) =
                if self.reverted { (Topic::Retracted, "reverted") } else { (Topic::Control, "restored") };
            let notice = Notice::new(topic).with_name("session.revert").with_status(status);
            recorder.write_notice(Notice { detail: revert, ..notice });
        }
        recorder.update_info(sessions::about(&info));
    }

    /// `session.status`: busy, idle, or waiting for a retry.
    pub(super) fn session_status(&mut self, status: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match status.get_str("type").as_deref() {
            Some("idle") => self.session_idle(recorder),
            Some("busy") => self.session_busy(recorder),
            Some("retry") => self.session_retry(status, recorder),
            _ => {}
        }
    }

    fn session_busy(&mut self, recorder: &mut RunRecorder) {
        if self.main {
            self.turn.busy(false);
            let status = if self.compacting { SessionStatus::Compacting } else { SessionStatus::Running };
            doing(status, recorder);
        }
    }

    /// Idle, reported twice: by `session.status` and by the older `session.idle`.
    pub(super) fn session_idle(&mut self, recorder: &mut RunRecorder) {
        if self.main {
            if self.stopped && recorder.in_turn() {
                self.turn.abandoned();
            }
            self.turn.rest();
            self.compacting = false;
            self.rest(recorder);
        }
    }

    /// Ends the turn of an idle session, unless its last reply is incomplete. Until then the session accepts no prompt
    /// (OpenCode 1.18.33 drops it) and is not reported as idle.
    pub(super) fn rest(&mut self, recorder: &mut RunRecorder) {
        self.settle(recorder);
        if !recorder.in_turn() {
            doing(SessionStatus::Idle, recorder);
        }
    }

    fn session_retry(&mut self, status: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let fault = errors::retried(&status.get_str("message").unwrap_or_default());
        let detail = Retry { attempt: status.get_u64("attempt"), next: status.get_u64("next") };
        let notice = Notice::new(Topic::Retry).with_level(Level::Warning).with_text(fault.message.clone());
        recorder.write_notice(Notice { error: Some(fault), detail: Some(to_raw_json(&detail)), ..notice });
        if self.main {
            self.turn.busy(true);
            doing(SessionStatus::Retrying, recorder);
        }
    }

    /// `session.error`. During a turn it is reported when the turn ends, and only if the turn ends because of it: after
    /// a context overflow, OpenCode continues with a smaller context.
    pub(super) fn session_error(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(fault) = fields.get("error").map(errors::fault) else { return };
        if self.main && !recorder.in_turn() && self.turn.failed_of(&fault.message) {
            // OpenCode repeats the error of a failed prompt with all its causes.
            return recorder.write_notice(Notice::new(Topic::Echo).with_level(Level::Debug).with_name("session.error"));
        }
        if self.main
            && !recorder.in_turn()
            && let Some(prompt) = self.posted.lost()
        {
            return self.turn.refused(&prompt, fault, recorder);
        }
        if fault.code == ErrorCode::Aborted {
            if self.main {
                recorder.mark_interrupted();
            }
            recorder.write_notice(Notice::new(Topic::Interrupt).with_text(fault.message.clone()));
        } else if !self.main || !recorder.in_turn() || fault.code == ErrorCode::ContextOverflow {
            let notice = Notice::new(Topic::Warning).with_level(Level::Error).with_text(fault.message.clone());
            recorder.write_notice(Notice { error: Some(fault.clone()), ..notice });
        }
        if self.main && recorder.in_turn() {
            self.turn.fault = Some(fault);
            if self.turn.is_over() {
                self.rest(recorder);
            }
        }
    }

    /// `session.compacted`.
    pub(super) fn session_compacted(&mut self, recorder: &mut RunRecorder) {
        let notice = Notice::new(Topic::Compaction).with_status("completed");
        recorder.write_notice(Notice { text: self.summary.take(), ..notice });
        if self.main {
            self.compacting = false;
        }
    }

    /// `session.deleted`: a running turn has no end.
    pub(super) fn session_deleted(&mut self, recorder: &mut RunRecorder) {
        if self.main && recorder.in_turn() {
            recorder.mark_interrupted();
        }
    }
}

pub fn doing(status: SessionStatus, recorder: &mut RunRecorder) {
    recorder.update_info(Info { status: Some(status), ..Info::default() });
}

#[derive(serde::Serialize)]
struct Retry {
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}
