//! Events about a session as a whole: its title, its status and its errors. The bus does not buffer events, so after an
//! interruption the missed ones are reconstructed from the server's current state, none of them twice.

use switchboard_event::{ErrorCode, Id, Info, Level, Notice, SessionStatus, Topic, to_raw_json};

use super::{bus::BusReader, errors, messages::BusMessage, sessions};
use crate::{JsonObject, JsonView, RunRecorder};

impl BusReader {
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
            self.turn.mark_busy(false);
            let status = if self.compacting { SessionStatus::Compacting } else { SessionStatus::Running };
            report_status(status, recorder);
        }
    }

    /// Idle, reported twice: by `session.status` and by the older `session.idle`.
    pub(super) fn session_idle(&mut self, recorder: &mut RunRecorder) {
        if self.main {
            if self.stopped && recorder.in_turn() {
                self.turn.abandon();
            }
            self.turn.mark_idle();
            self.compacting = false;
            self.end_turn_if_idle(recorder);
        }
    }

    /// Ends the turn of an idle session, unless its last reply is incomplete. Until then the session accepts no prompt
    /// (OpenCode 1.18.33 drops it) and is not reported as idle.
    pub(super) fn end_turn_if_idle(&mut self, recorder: &mut RunRecorder) {
        self.settle(recorder);
        if !recorder.in_turn() {
            report_status(SessionStatus::Idle, recorder);
        }
    }

    fn session_retry(&mut self, status: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let fault = errors::retried(&status.get_str("message").unwrap_or_default());
        let detail = RetryStatus { attempt: status.get_u64("attempt"), next: status.get_u64("next") };
        let notice = Notice::new(Topic::Retry).with_level(Level::Warning).with_text(fault.message.clone());
        recorder.write_notice(Notice { error: Some(fault), detail: Some(to_raw_json(&detail)), ..notice });
        if self.main {
            self.turn.mark_busy(true);
            report_status(SessionStatus::Retrying, recorder);
        }
    }

    /// `session.error`. During a turn it is reported when the turn ends, and only if the turn ends because of it: after
    /// a context overflow, OpenCode continues with a smaller context.
    pub(super) fn session_error(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(fault) = fields.get("error").map(errors::fault) else { return };
        if self.main && !recorder.in_turn() && self.turn.failed_with(&fault.message) {
            // OpenCode repeats the error of a failed prompt with all its causes.
            return recorder.write_notice(Notice::new(Topic::Echo).with_level(Level::Debug).with_name("session.error"));
        }
        if self.main
            && !recorder.in_turn()
            && let Some(prompt) = self.posted.take_oldest()
        {
            return self.turn.report_refused_prompt(&prompt, fault, recorder);
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
                self.end_turn_if_idle(recorder);
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

pub fn report_status(status: SessionStatus, recorder: &mut RunRecorder) {
    recorder.update_info(Info { status: Some(status), ..Info::default() });
}

#[derive(serde::Serialize)]
struct RetryStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

impl BusReader {
    /// Reads all messages of a session, with their parts.
    pub(super) fn catch_up(&mut self, messages: JsonView<'_>, recorder: &mut RunRecorder) {
        for message in messages.as_array() {
            let message = message.as_object();
            let info = message.get_object("info");
            if self.sessions.is_main(&info.get_str("sessionID").unwrap_or_default()) {
                (self.main, self.thread) = (true, None);
                self.read_missed_message(&info, &message.get_array("parts"), recorder);
            }
        }
    }

    fn read_missed_message(&mut self, info: &JsonObject<'_>, parts: &[JsonView<'_>], recorder: &mut RunRecorder) {
        let id = Id::from(info.get_str("id").unwrap_or_default());
        match self.messages.get(&id) {
            Some(message) if message.past || message.complete => return,
            Some(_) => {}
            None if self.sessions.is_past(info.get_object("time").get_u64("created")) => return,
            None => self.add_unseen_message(&id, info, recorder),
        }
        for part in parts.iter().map(|part| part.as_object()) {
            if !self.was_reported(&part) {
                // The stored part does not include the text that was streamed so far.
                self.seen.insert(Id::from(part.get_str("id").unwrap_or_default()), 0);
                self.part_updated(&part, recorder);
            }
        }
        self.message_updated(info, recorder);
    }

    /// Adds a message that was not seen before, in whatever state it is now.
    fn add_unseen_message(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if info.str_equals("role", "user") {
            return self.message_updated(info, recorder);
        }
        let message = BusMessage::new(info, false);
        self.messages.insert(id.clone(), message);
        self.begin_reply(id, info, recorder);
    }

    /// Returns whether a part was reported completely. Some part types have an end; the others occur only once.
    fn was_reported(&self, part: &JsonObject<'_>) -> bool {
        let id = part.get_str("id").unwrap_or_default();
        let grows = matches!(part.get_str("type").as_deref(), Some("text" | "reasoning" | "tool"));
        let pending = part.get_object("state").str_equals("status", "pending");
        self.ended.has(&id) || pending || !grows && self.seen.has(&id)
    }

    /// Reads the status of each session. Idle sessions are not listed.
    pub(super) fn read_statuses(&mut self, statuses: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(main) = self.sessions.main() else { return };
        self.main = true;
        match statuses.get(&main) {
            Some(status) => self.session_status(&status.as_object(), recorder),
            None => {
                self.turn.confirm_idle();
                self.session_idle(recorder);
            }
        }
    }

    /// Reads the list of open requests. After an abort, the list still contains permissions that nothing waits for, so
    /// requests that were seen before are skipped.
    pub(super) fn read_open_requests(
        &mut self,
        list: JsonView<'_>,
        asked: fn(&mut Self, &JsonObject<'_>, &mut RunRecorder),
        recorder: &mut RunRecorder,
    ) {
        for request in list.as_array() {
            let fields = request.as_object();
            if !self.asked.has(&fields.get_str("id").unwrap_or_default()) {
                self.attribute_to_session(&fields.get_str("sessionID").unwrap_or_default(), recorder);
                asked(self, &fields, recorder);
            }
        }
    }

    /// Attributes the following events to a session.
    fn attribute_to_session(&mut self, session: &str, recorder: &mut RunRecorder) {
        self.main = self.sessions.is_main(session);
        self.thread = None;
        if !self.main {
            self.thread = Some(Id::from(session));
            recorder.set_scope(self.sessions.item_of(session), self.thread.clone());
        } else {
            recorder.set_scope(None, None);
        }
    }
}
