//! Catching up after the bus was interrupted: it is not kept for who comes late, so what was missed is read from all
//! that the server knows. Nothing is told twice.

use switchboard_event::Id;

use super::{bus::Bus, messages::Message};
use crate::{Json, Object, Scribe};

impl Bus {
    /// All messages of a session, with their parts.
    pub(super) fn catch_up(&mut self, messages: Json<'_>, scribe: &mut Scribe) {
        for message in messages.array() {
            let message = message.object();
            let info = message.object("info");
            if self.sessions.is_main(&info.str("sessionID").unwrap_or_default()) {
                (self.main, self.thread) = (true, None);
                self.message_missed(&info, &message.array("parts"), scribe);
            }
        }
    }

    fn message_missed(&mut self, info: &Object<'_>, parts: &[Json<'_>], scribe: &mut Scribe) {
        let id = Id::from(info.str("id").unwrap_or_default());
        match self.messages.get(&id) {
            Some(message) if message.past || message.complete => return,
            Some(_) => {}
            None if self.sessions.is_past(info.object("time").u64("created")) => return,
            None => self.hear_of(&id, info, scribe),
        }
        for part in parts.iter().map(|part| part.object()) {
            if !self.was_told(&part) {
                // What it has said so far is not in it.
                self.seen.insert(Id::from(part.str("id").unwrap_or_default()), 0);
                self.part_updated(&part, scribe);
            }
        }
        self.message_updated(info, scribe);
    }

    /// A message that is new to us, whatever became of it since.
    fn hear_of(&mut self, id: &Id, info: &Object<'_>, scribe: &mut Scribe) {
        if info.is("role", "user") {
            return self.message_updated(info, scribe);
        }
        let message = Message::new(info, false);
        self.messages.insert(id.clone(), message);
        self.reply_begun(id, info, scribe);
    }

    /// Some parts have an end, and others are only told once.
    fn was_told(&self, part: &Object<'_>) -> bool {
        let id = part.str("id").unwrap_or_default();
        let grows = matches!(part.str("type").as_deref(), Some("text" | "reasoning" | "tool"));
        let pending = part.object("state").is("status", "pending");
        self.ended.has(&id) || pending || !grows && self.seen.has(&id)
    }

    /// What each session does: those that rest are not there.
    pub(super) fn statuses(&mut self, statuses: &Object<'_>, scribe: &mut Scribe) {
        let Some(main) = self.sessions.main() else { return };
        self.main = true;
        match statuses.get(&main) {
            Some(status) => self.session_status(&status.object(), scribe),
            None => self.session_idle(scribe),
        }
    }

    /// What is asked for. An abort leaves permissions on this list that nobody waits for: what was asked before is
    /// not asked again.
    pub(super) fn still_asked(
        &mut self,
        list: Json<'_>,
        asked: fn(&mut Self, &Object<'_>, &mut Scribe),
        scribe: &mut Scribe,
    ) {
        for request in list.array() {
            let fields = request.object();
            if !self.asked.has(&fields.str("id").unwrap_or_default()) {
                self.sit(&fields.str("sessionID").unwrap_or_default(), scribe);
                asked(self, &fields, scribe);
            }
        }
    }

    /// What follows belongs to this session.
    fn sit(&mut self, session: &str, scribe: &mut Scribe) {
        self.main = self.sessions.is_main(session);
        self.thread = None;
        if !self.main {
            self.thread = Some(Id::from(session));
            scribe.within(self.sessions.item_of(session), self.thread.clone());
        } else {
            scribe.within(None, None);
        }
    }
}
