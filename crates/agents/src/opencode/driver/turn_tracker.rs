//! Tracks whether OpenCode is busy, idle or ending a turn: when a turn is really over, and how to handle one that
//! neither continues nor ends.

use std::time::Duration;

use switchboard_event::{Event, EventBody, Id, TurnStatus};

use super::id;
use crate::{DriverTimer, JsonObject};

/// After an error or an abort, OpenCode 1.18.33 becomes idle twice. Time to wait in case the second idle event is
/// missed.
const REST: (DriverTimer, Duration) = (DriverTimer("rest"), Duration::from_secs(2));

/// Time to wait for the end of an incomplete reply of an idle session, which may have been missed.
const END: (DriverTimer, Duration) = (DriverTimer("end"), Duration::from_secs(3));

/// Time to wait for any effect of an accepted prompt.
const WORK: (DriverTimer, Duration) = (DriverTimer("work"), Duration::from_secs(20));

/// Maximum number of reminders of a prompt.
const REMINDERS: u32 = 2;

/// Action for the driver.
#[derive(Debug, PartialEq, Eq)]
pub enum ActivityChange {
    /// Starts a timer.
    Arm(DriverTimer, Duration),
    /// Stops a timer.
    Disarm(DriverTimer),
    /// Aborts the turn again.
    Abort,
    /// Requests events that may have been missed.
    CatchUp,
    /// Makes OpenCode answer an unanswered message.
    Remind,
    /// The turn is over, and nothing is pending.
    Settled,
}

/// The known state of OpenCode.
#[derive(Default)]
pub struct TurnTracker {
    busy: bool,
    in_turn: bool,
    /// Status of the turn that just ended.
    ended: Option<TurnStatus>,
    /// The session became idle during the open turn.
    rested: bool,
    /// The turn is over, but the session is not idle yet.
    resting: bool,
    /// The last prompt, until it is accepted.
    posted: Option<u64>,
    /// The last slash command, until it is finished.
    commanded: Option<u64>,
    /// A prompt was sent that the bus has not shown yet.
    unseen: bool,
    /// The message of the last prompt, until there is a reply to it.
    unanswered: Option<Id>,
    /// Messages before this one are old.
    newest: Option<Id>,
    interrupted: bool,
    /// The turn was stopped before the session became busy, so it may still begin.
    early: bool,
    reminders: u32,
}

impl TurnTracker {
    /// Returns whether OpenCode would drop a prompt now.
    pub fn is_ending(&self) -> bool {
        self.resting || self.in_turn && self.rested
    }

    pub fn note_prompt(&mut self, number: u64) {
        (self.posted, self.unseen) = (Some(number), true);
        (self.interrupted, self.early, self.rested, self.resting) = (false, false, false, false);
    }

    /// Returns whether this is the last prompt and it was not accepted yet.
    pub fn awaits(&self, number: u64) -> bool {
        self.posted == Some(number)
    }

    pub fn note_command(&mut self, number: u64) {
        self.note_prompt(number);
        (self.posted, self.commanded) = (None, Some(number));
    }

    pub fn handle_response(&mut self, number: u64, taken: bool) -> Vec<ActivityChange> {
        if self.commanded.take_if(|commanded| *commanded == number).is_some() && !taken && !self.in_turn {
            (self.unseen, self.unanswered) = (false, None);
            return if self.ended.is_some() { self.settle_if_ended() } else { vec![ActivityChange::Settled] };
        }
        if self.posted != Some(number) {
            return self.settle_if_ended();
        }
        self.posted = None;
        if !taken {
            (self.unseen, self.unanswered) = (false, None);
            return self.settle_if_ended();
        }
        if self.busy { Vec::new() } else { vec![ActivityChange::Arm(WORK.0, WORK.1)] }
    }

    pub fn note_interrupt(&mut self) {
        (self.interrupted, self.early) = (true, !self.busy);
        (self.unanswered, self.unseen) = (None, false);
    }

    /// Applies the events of the reader.
    pub fn apply_events(&mut self, events: &[Event]) {
        for event in events {
            match &event.body {
                EventBody::TurnStarted(_) => (self.in_turn, self.ended, self.rested) = (true, None, false),
                EventBody::TurnCompleted(turn) => (self.in_turn, self.ended) = (false, Some(turn.status)),
                _ => {}
            }
        }
    }

    pub fn observe_message(&mut self, event: &JsonObject<'_>, session: Option<&str>) -> Vec<ActivityChange> {
        let kind = event.get_str("type").unwrap_or_default();
        let fields = || event.get_object("properties");
        let ours = |fields: &JsonObject<'_>| session.is_some() && fields.get_str("sessionID").as_deref() == session;
        match &*kind {
            "session.status" | "session.idle" => {
                let fields = fields();
                let rests = &*kind == "session.idle" || fields.get_object("status").str_equals("type", "idle");
                match ours(&fields) {
                    true if rests => self.mark_idle(),
                    true => self.mark_working(),
                    false => Vec::new(),
                }
            }
            "message.updated" => {
                let fields = fields();
                if ours(&fields) {
                    self.message(&fields.get_object("info"));
                }
                self.become_idle()
            }
            _ => self.settle_if_ended(),
        }
    }

    fn message(&mut self, info: &JsonObject<'_>) {
        let Some(message) = id(info, "id") else { return };
        // Ids grow with time. A message that is shown again is not new.
        let new = self.newest.as_ref().is_none_or(|newest| *newest < message);
        match info.get_str("role").as_deref() {
            Some("user") if new && self.unseen => {
                self.unseen = false;
                (self.newest, self.unanswered) = (Some(message.clone()), Some(message));
            }
            Some("assistant") if self.unanswered.is_some() && id(info, "parentID") == self.unanswered => {
                self.unanswered = None;
            }
            _ => {}
        }
    }

    fn mark_working(&mut self) -> Vec<ActivityChange> {
        (self.busy, self.rested) = (true, false);
        let mut news = vec![ActivityChange::Disarm(WORK.0)];
        // The abort arrived before there was anything to stop.
        if std::mem::take(&mut self.early) {
            news.push(ActivityChange::Abort);
        }
        news
    }

    fn mark_idle(&mut self) -> Vec<ActivityChange> {
        self.busy = false;
        if self.ended.is_some() || self.resting {
            return self.settle();
        }
        if !self.in_turn || self.rested {
            return Vec::new();
        }
        self.rested = true;
        vec![ActivityChange::Arm(END.0, END.1)]
    }

    /// The reply was completed after the session became idle, so the session becomes idle once more.
    fn become_idle(&mut self) -> Vec<ActivityChange> {
        if self.ended.is_none() || self.resting {
            return Vec::new();
        }
        self.resting = true;
        vec![ActivityChange::Disarm(END.0), ActivityChange::Arm(REST.0, REST.1)]
    }

    fn settle_if_ended(&mut self) -> Vec<ActivityChange> {
        if self.ended.is_some() && !self.resting { self.settle() } else { Vec::new() }
    }

    /// Ends the turn. After a successful turn, a prompt that arrived at its end still needs an answer.
    fn settle(&mut self) -> Vec<ActivityChange> {
        let well = self.ended.take() == Some(TurnStatus::Completed);
        let mut news =
            vec![ActivityChange::Disarm(WORK.0), ActivityChange::Disarm(END.0), ActivityChange::Disarm(REST.0)];
        (self.resting, self.rested) = (false, false);
        let forgotten = self.unanswered.take().is_some();
        if well && self.unseen {
            news.push(ActivityChange::Arm(WORK.0, WORK.1));
        } else if well && forgotten && self.may_remind() {
            news.push(ActivityChange::Remind);
        } else {
            (self.unseen, self.reminders) = (false, 0);
            news.push(ActivityChange::Settled);
        }
        news
    }

    fn may_remind(&mut self) -> bool {
        self.reminders += 1;
        self.reminders <= REMINDERS
    }

    pub fn handle_timer(&mut self, timer: DriverTimer) -> Vec<ActivityChange> {
        if timer == REST.0 && self.resting {
            return self.settle();
        }
        if timer == END.0 && self.in_turn && !self.busy {
            return vec![ActivityChange::CatchUp];
        }
        if timer == WORK.0 && !self.busy && !self.interrupted && self.may_remind() {
            return vec![ActivityChange::Remind];
        }
        Vec::new()
    }
}
