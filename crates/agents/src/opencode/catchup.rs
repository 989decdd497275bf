//! Recovery after an interruption of the bus. The bus does not buffer events, so the missed ones are reconstructed from
//! the server's current state. Nothing is reported twice.

use switchboard_event::Id;

use super::{bus::Bus, messages::Message};
use crate::{JsonObject, JsonView, RunRecorder};

impl Bus {
    /// Reads all messages of a session, with their parts.
    pub(super) fn catch_up(&mut self, messages: JsonView<'_>, recorder: &mut RunRecorder) {
        for message in messages.as_array() {
            let message = message.as_object();
            let info = message.get_object("info");
            if self.sessions.is_main(&info.get_str("sessionID").unwrap_or_default()) {
                (self.main, self.thread) = (true, None);
                self.message_missed(&info, &message.get_array("parts"), recorder);
            }
        }
    }

    fn message_missed(&mut self, info: &JsonObject<'_>, parts: &[JsonView<'_>], recorder: &mut RunRecorder) {
        let id = Id::from(info.get_str("id").unwrap_or_default());
        match self.messages.get(&id) {
            Some(message) if message.past || message.complete => return,
            Some(_) => {}
            None if self.sessions.is_past(info.get_object("time").get_u64("created")) => return,
            None => self.hear_of(&id, info, recorder),
        }
        for part in parts.iter().map(|part| part.as_object()) {
            if !self.was_told(&part) {
                // The stored part does not include the text that was streamed so far.
                self.seen.insert(Id::from(part.get_str("id").unwrap_or_default()), 0);
                self.part_updated(&part, recorder);
            }
        }
        self.message_updated(info, recorder);
    }

    /// Adds a message that was not seen before, in whatever state it is now.
    fn hear_of(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if info.str_equals("role", "user") {
            return self.message_updated(info, recorder);
        }
        let message = Message::new(info, false);
        self.messages.insert(id.clone(), message);
        self.reply_begun(id, info, recorder);
    }

    /// Returns whether a part was reported completely. Some part types have an end; the others occur only once.
    fn was_told(&self, part: &JsonObject<'_>) -> bool {
        let id = part.get_str("id").unwrap_or_default();
        let grows = matches!(part.get_str("type").as_deref(), Some("text" | "reasoning" | "tool"));
        let pending = part.get_object("state").str_equals("status", "pending");
        self.ended.has(&id) || pending || !grows && self.seen.has(&id)
    }

    /// Reads the status of each session. Idle sessions are not listed.
    pub(super) fn statuses(&mut self, statuses: &JsonObject<'_>, recorder: &mut RunRecorder) {
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
    pub(super) fn still_asked(
        &mut self,
        list: JsonView<'_>,
        asked: fn(&mut Self, &JsonObject<'_>, &mut RunRecorder),
        recorder: &mut RunRecorder,
    ) {
        for request in list.as_array() {
            let fields = request.as_object();
            if !self.asked.has(&fields.get_str("id").unwrap_or_default()) {
                self.sit(&fields.get_str("sessionID").unwrap_or_default(), recorder);
                asked(self, &fields, recorder);
            }
        }
    }

    /// Attributes the following events to a session.
    fn sit(&mut self, session: &str, recorder: &mut RunRecorder) {
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
