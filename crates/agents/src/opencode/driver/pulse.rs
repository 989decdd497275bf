//! Whether OpenCode works, rests, or is just ending: when a turn is really over, and what to do about one that
//! neither goes on nor ends.

use std::time::Duration;

use switchboard_event::{Body, Event, Id, TurnStatus};

use super::id;
use crate::{Object, Timer};

/// After an error or an abort OpenCode 1.18.33 rests twice. Should the second time be missed, this is waited.
const REST: (Timer, Duration) = (Timer("rest"), Duration::from_secs(2));

/// It rests, but its reply is not complete: the end may have been missed.
const END: (Timer, Duration) = (Timer("end"), Duration::from_secs(3));

/// It took a prompt, and does nothing about it.
const WORK: (Timer, Duration) = (Timer("work"), Duration::from_secs(20));

/// How often it is reminded of a prompt.
const REMINDERS: u32 = 2;

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// Call back.
    Arm(Timer, Duration),
    /// Do not call back.
    Disarm(Timer),
    /// Stop it once more.
    Abort,
    /// Ask for what may have been missed.
    CatchUp,
    /// Have it answer what it left unanswered.
    Remind,
    /// The turn is over, and nothing more is under way.
    Settled,
}

/// What OpenCode does, as far as it is known.
#[derive(Default)]
pub struct Pulse {
    busy: bool,
    /// A turn is open.
    in_turn: bool,
    /// The turn just ended, and how.
    ended: Option<TurnStatus>,
    /// The session rested in the turn that is open.
    rested: bool,
    /// The turn is over, but the session must still come to rest.
    resting: bool,
    /// The prompt that was sent last, until it was taken.
    posted: Option<u64>,
    /// The command that was sent last, until all of it is done.
    commanded: Option<u64>,
    /// A prompt was sent of which the bus has shown nothing.
    unseen: bool,
    /// The message of the last prompt, until there is a reply to it.
    unanswered: Option<Id>,
    /// All that came before this message is old.
    newest: Option<Id>,
    interrupted: bool,
    /// It was stopped before it worked: what was under way may still begin.
    early: bool,
    reminders: u32,
}

impl Pulse {
    /// A prompt that comes now would be forgotten.
    pub fn is_ending(&self) -> bool {
        self.resting || self.in_turn && self.rested
    }

    /// A prompt is sent.
    pub fn prompted(&mut self, number: u64) {
        (self.posted, self.unseen) = (Some(number), true);
        (self.interrupted, self.early, self.rested, self.resting) = (false, false, false, false);
    }

    /// This is the prompt that was sent last, and is not taken yet.
    pub fn awaits(&self, number: u64) -> bool {
        self.posted == Some(number)
    }

    /// A command is sent.
    pub fn commanded(&mut self, number: u64) {
        self.prompted(number);
        (self.posted, self.commanded) = (None, Some(number));
    }

    /// A request was answered.
    pub fn answered(&mut self, number: u64, taken: bool) -> Vec<News> {
        if self.commanded.take_if(|commanded| *commanded == number).is_some() && !taken && !self.in_turn {
            (self.unseen, self.unanswered) = (false, None);
            return if self.ended.is_some() { self.settle_if_ended() } else { vec![News::Settled] };
        }
        if self.posted != Some(number) {
            return self.settle_if_ended();
        }
        self.posted = None;
        if !taken {
            (self.unseen, self.unanswered) = (false, None);
            return self.settle_if_ended();
        }
        if self.busy { Vec::new() } else { vec![News::Arm(WORK.0, WORK.1)] }
    }

    /// Somebody stops the turn.
    pub fn interrupted(&mut self) {
        (self.interrupted, self.early) = (true, !self.busy);
        (self.unanswered, self.unseen) = (None, false);
    }

    /// What the reader tells.
    pub fn told(&mut self, events: &[Event]) {
        for event in events {
            match &event.body {
                Body::TurnStarted(_) => (self.in_turn, self.ended, self.rested) = (true, None, false),
                Body::TurnCompleted(turn) => (self.in_turn, self.ended) = (false, Some(turn.status)),
                _ => {}
            }
        }
    }

    /// Something came on the bus.
    pub fn heard(&mut self, event: &Object<'_>, session: Option<&str>) -> Vec<News> {
        let kind = event.str("type").unwrap_or_default();
        let fields = || event.object("properties");
        let ours = |fields: &Object<'_>| session.is_some() && fields.str("sessionID").as_deref() == session;
        match &*kind {
            "session.status" | "session.idle" => {
                let fields = fields();
                let rests = &*kind == "session.idle" || fields.object("status").is("type", "idle");
                match ours(&fields) {
                    true if rests => self.rests(),
                    true => self.works(),
                    false => Vec::new(),
                }
            }
            "message.updated" => {
                let fields = fields();
                if ours(&fields) {
                    self.message(&fields.object("info"));
                }
                self.comes_to_rest()
            }
            _ => self.settle_if_ended(),
        }
    }

    fn message(&mut self, info: &Object<'_>) {
        let Some(message) = id(info, "id") else { return };
        // Ids grow with time; what is heard of again is not new.
        let new = self.newest.as_ref().is_none_or(|newest| *newest < message);
        match info.str("role").as_deref() {
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

    fn works(&mut self) -> Vec<News> {
        (self.busy, self.rested) = (true, false);
        let mut news = vec![News::Disarm(WORK.0)];
        // The abort came before there was anything to stop.
        if std::mem::take(&mut self.early) {
            news.push(News::Abort);
        }
        news
    }

    fn rests(&mut self) -> Vec<News> {
        self.busy = false;
        if self.ended.is_some() || self.resting {
            return self.settle();
        }
        if !self.in_turn || self.rested {
            return Vec::new();
        }
        self.rested = true;
        vec![News::Arm(END.0, END.1)]
    }

    /// The reply is complete after the session rested: it will rest once more.
    fn comes_to_rest(&mut self) -> Vec<News> {
        if self.ended.is_none() || self.resting {
            return Vec::new();
        }
        self.resting = true;
        vec![News::Disarm(END.0), News::Arm(REST.0, REST.1)]
    }

    fn settle_if_ended(&mut self) -> Vec<News> {
        if self.ended.is_some() && !self.resting { self.settle() } else { Vec::new() }
    }

    /// The turn is over. If it ended well, a prompt that came while it did must still be answered.
    fn settle(&mut self) -> Vec<News> {
        let well = self.ended.take() == Some(TurnStatus::Completed);
        let mut news = vec![News::Disarm(WORK.0), News::Disarm(END.0), News::Disarm(REST.0)];
        (self.resting, self.rested) = (false, false);
        let forgotten = self.unanswered.take().is_some();
        if well && self.unseen {
            news.push(News::Arm(WORK.0, WORK.1));
        } else if well && forgotten && self.may_remind() {
            news.push(News::Remind);
        } else {
            (self.unseen, self.reminders) = (false, 0);
            news.push(News::Settled);
        }
        news
    }

    fn may_remind(&mut self) -> bool {
        self.reminders += 1;
        self.reminders <= REMINDERS
    }

    /// A timer ran out.
    pub fn ran_out(&mut self, timer: Timer) -> Vec<News> {
        if timer == REST.0 && self.resting {
            return self.settle();
        }
        if timer == END.0 && self.in_turn && !self.busy {
            return vec![News::CatchUp];
        }
        if timer == WORK.0 && !self.busy && !self.interrupted && self.may_remind() {
            return vec![News::Remind];
        }
        Vec::new()
    }
}
