//! The scribe: writes events down and keeps the books, so that no reader has to. It knows what is open, numbers
//! the turns, puts each record on the first event that it caused, and closes what an agent leaves open.
//! What a record means is not known here.

mod close;
mod items;
mod names;
mod relive;
mod session;
mod turns;

use foldhash::{HashMap, HashMapExt as _};
use switchboard_event::{
    Body, Decider, Event, Fault, Id, Info, Item, Level, Native, Notice, Timestamp, Topic, TurnStatus, Usage,
};

pub use session::Ending;

use names::Names;

use crate::{Start, Why};

/// Writes the events of one run.
pub struct Scribe {
    out: Vec<Event>,
    next_seq: u64,
    agent: Id,
    /// The maker of the agent; none for the agents that are built in.
    vendor: Option<&'static str>,
    run: u32,
    at: Timestamp,
    /// The clock that durations are measured by: a transcript's own where there is one, since the times that
    /// some records carry come from another.
    tick: Timestamp,
    began: Timestamp,
    told: Option<Timestamp>,
    measured: bool,
    /// What the turns say they took, together.
    worked_ms: u64,
    /// The record being read, until an event takes it, and then the event that took it.
    native: Option<Native>,
    cause: Option<u64>,
    /// The event that took the record before.
    carrier: Option<u64>,
    place: Place,
    start: Start,
    agent_session: Option<Id>,
    started: bool,
    /// The agent said that the session is over.
    declared: Option<Ending>,
    info: Info,
    turns: u32,
    turn: Option<u32>,
    last_turn: Option<TurnStatus>,
    last_error: Option<Fault>,
    /// What is open, by the agent's ids.
    open: HashMap<Id, Open>,
    names: Names,
    opened: u64,
    requests: Vec<OpenRequest>,
    /// Who decided what is about to be answered.
    decided: Vec<(Id, Decider)>,
    interrupted: bool,
    stopping: Option<Why>,
    closing: bool,
    /// What went wrong, should it turn out that something did.
    suspected: Option<Fault>,
    exit: Option<(Option<i32>, Option<i32>)>,
    /// Nobody wants more than figures, and which tools were called.
    brief: bool,
}

/// The maker of the agents that are built in.
const OWN_VENDOR: &str = "switchboard";

/// Returns whether only the agents of one maker have such a notice. Warnings, and what all agents have, concern everybody.
fn is_of_vendor(notice: &Notice) -> bool {
    let is_named = notice.name.as_ref().is_some_and(|name| !name.is_empty());
    let is_special = match notice.topic {
        Topic::RateLimit => true,
        Topic::Status | Topic::Snapshot | Topic::ToolSummary | Topic::Step => is_named,
        _ => false,
    };
    is_special && !matches!(notice.level, Level::Warning | Level::Error)
}

/// Where events belong: to the main conversation, or to a subagent.
#[derive(Clone, Debug, Default, PartialEq)]
struct Place {
    parent: Option<Id>,
    thread: Option<Id>,
}

struct Open {
    /// The id that events have.
    id: Id,
    /// Its place among all that were opened.
    order: u64,
    item: Item,
    place: Place,
    at: Timestamp,
}

struct OpenRequest {
    id: Id,
    item: Option<Id>,
    place: Place,
}

impl Scribe {
    pub(crate) fn new(agent: &str, run: u32, next_seq: u64, turns: u32, start: Start) -> Self {
        Self {
            out: Vec::new(),
            next_seq,
            agent: Id::from(agent),
            vendor: crate::agent(agent).map(|agent| agent.provider).filter(|vendor| !["", OWN_VENDOR].contains(vendor)),
            run,
            at: Timestamp::default(),
            tick: Timestamp::default(),
            began: Timestamp::default(),
            told: None,
            measured: false,
            worked_ms: 0,
            native: None,
            cause: None,
            carrier: None,
            place: Place::default(),
            start,
            agent_session: None,
            started: false,
            declared: None,
            info: Info::default(),
            turns,
            turn: None,
            last_turn: None,
            last_error: None,
            open: HashMap::new(),
            names: Names::new(run),
            opened: 0,
            requests: Vec::new(),
            decided: Vec::new(),
            interrupted: false,
            stopping: None,
            closing: false,
            suspected: None,
            exit: None,
            brief: false,
        }
    }

    /// From now on, nobody wants more than figures, and which tools were called; or everything is wanted.
    pub(crate) fn be_brief(&mut self, brief: bool) {
        self.brief = brief;
    }

    /// What was said, given and given back need not be written down.
    pub(crate) fn is_brief(&self) -> bool {
        self.brief
    }

    /// A record is about to be read.
    pub(crate) fn begin(&mut self, native: Option<Native>, at: Timestamp, measured: Option<Timestamp>) {
        self.measured |= measured.is_some();
        if !self.measured {
            self.tick = at;
        }
        self.tick = measured.unwrap_or(self.tick);
        self.told = None;
        self.native = native;
        self.cause = None;
        self.place = Place::default();
        self.at = at;
    }

    /// A record has been read; what nobody took becomes a notice of its own.
    pub(crate) fn settle(&mut self, notice: impl FnOnce() -> Notice) {
        if self.native.is_some() {
            self.notice(notice());
        }
        self.cause = None;
        self.place = Place::default();
    }

    pub(crate) fn drain(&mut self) -> std::vec::Drain<'_, Event> {
        self.out.drain(..)
    }

    /// Gives the events that were written for an assumed time the right one.
    pub(crate) fn redate(&mut self, assumed: Timestamp, told: Timestamp) {
        self.out.iter_mut().filter(|event| event.at == assumed).for_each(|event| event.at = told);
    }

    /// When the record says that it happened, if it does.
    pub(crate) fn told(&self) -> Option<Timestamp> {
        self.told
    }

    /// When what is being read happened, as far as it is known.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The record says itself when it happened.
    pub fn happened(&mut self, at: Option<Timestamp>) {
        if let Some(at) = at {
            (self.at, self.told) = (at, Some(at));
            if !self.measured {
                self.tick = at;
                // The first event may have had to make do with the time of its arrival.
                self.began = self.began.min(at);
            }
        }
    }

    /// What follows in this record belongs to a subagent: the item it works under, and its thread.
    pub fn within(&mut self, parent: Option<Id>, thread: Option<Id>) {
        self.place = Place { parent: parent.map(|parent| self.names.current(&parent)), thread };
    }

    /// Writes what the records before left to be said, and only the one being read shows to be over. It stays theirs.
    pub fn before(&mut self, write: impl FnOnce(&mut Self)) {
        if self.carrier.is_none() {
            return;
        }
        let (native, place) = (self.native.take(), self.place.clone());
        let cause = std::mem::replace(&mut self.cause, self.carrier);
        write(self);
        (self.native, self.cause, self.place) = (native, cause, place);
    }

    /// An id that is only unique in one process of the agent, made unique in the session.
    #[must_use]
    pub fn local_id(&self, id: &str) -> Id {
        Id::from(format!("r{}.{id}", self.run))
    }

    /// What is known about the session beside what its agent says.
    #[must_use]
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Tokens were used. A reader reports each model reply once.
    pub fn usage(&mut self, usage: Usage) {
        if !usage.is_zero() || usage.cumulative {
            self.report(usage);
        }
    }

    /// The same, be it nothing: an agent that says that a turn used nothing has said so.
    pub fn report(&mut self, mut usage: Usage) {
        // JSON has no word for infinity.
        usage.cost_usd = usage.cost_usd.filter(|cost| cost.is_finite());
        self.write(None, Body::Usage(Box::new(usage)));
    }

    /// Something else to know.
    pub fn notice(&mut self, notice: Notice) {
        self.notice_about(None, notice);
    }

    /// Something else to know, if the record has caused no event yet: no record goes without one.
    pub fn otherwise(&mut self, notice: Notice) {
        if self.native.is_some() {
            self.notice(notice);
        }
    }

    /// Something else to know about an item.
    pub fn notice_about(&mut self, item: Option<Id>, mut notice: Notice) {
        if is_of_vendor(&notice) {
            notice.vendor = self.vendor.map(str::to_owned);
        }
        self.write(item, Body::Notice(Box::new(notice)));
    }

    fn write(&mut self, item: Option<Id>, body: Body) {
        let place = self.place.clone();
        let item = item.map(|item| self.names.current(&item));
        self.write_at(item, place, body);
    }

    fn write_at(&mut self, item: Option<Id>, place: Place, body: Body) {
        self.ensure_started();
        self.push(item, place, body);
    }

    fn push(&mut self, item: Option<Id>, place: Place, body: Body) {
        let seq = self.next_seq;
        self.next_seq += 1;
        let native = self.native.take();
        let cause = if native.is_some() {
            (self.cause, self.carrier) = (Some(seq), Some(seq));
            None
        } else {
            self.cause
        };
        self.out.push(Event {
            seq,
            session: Id::default(),
            at: self.at,
            agent: self.agent.clone(),
            run: self.run,
            turn: self.turn,
            item,
            parent: place.parent,
            thread: place.thread,
            body,
            native,
            cause,
        });
    }
}
