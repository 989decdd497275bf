//! The run recorder: writes events and tracks state, so that no reader has to. It knows which items and requests are
//! open, numbers the turns, attaches each record to the first event that it caused, and closes what an agent leaves
//! open. It does not interpret records.

mod items;
mod replay;
mod session;
mod turns;

use foldhash::{HashMap, HashMapExt as _};
use items::ItemIds;
pub use replay::SessionRepair;
pub use session::SessionEnding;
use switchboard_event::{
    Decider, Event, EventBody, Fault, Id, Info, Item, Level, NativeRecord, Notice, Timestamp, Topic, TurnStatus, Usage,
};

use crate::{SessionContext, StopCause};

/// Writes the events of one run.
pub struct RunRecorder {
    out: Vec<Event>,
    next_seq: u64,
    agent: Id,
    /// The vendor of the agent; `None` for built-in agents.
    vendor: Option<&'static str>,
    run: u32,
    at: Timestamp,
    /// The clock for durations: a transcript's own if there is one, since the times that some records carry come from
    /// another clock.
    tick: Timestamp,
    began: Timestamp,
    told: Option<Timestamp>,
    measured: bool,
    /// The sum of the durations that turns report.
    worked_ms: u64,
    /// The record being read, until an event takes it, and then the event that took it.
    native: Option<NativeRecord>,
    cause: Option<u64>,
    /// The event that took the previous record.
    carrier: Option<u64>,
    place: ConversationScope,
    start: SessionContext,
    agent_session: Option<Id>,
    started: bool,
    /// The ending that the agent declared.
    declared: Option<SessionEnding>,
    info: Info,
    turns: u32,
    turn: Option<u32>,
    last_turn: Option<TurnStatus>,
    last_error: Option<Fault>,
    /// The open items, by the agent's ids.
    open: HashMap<Id, OpenItem>,
    names: ItemIds,
    opened: u64,
    requests: Vec<UnresolvedRequest>,
    /// The deciders of requests that are about to be answered.
    decided: Vec<(Id, Decider)>,
    interrupted: bool,
    stopping: Option<StopCause>,
    closing: bool,
    /// The likely cause, if the run turns out to have failed.
    suspected: Option<Fault>,
    exit: Option<(Option<i32>, Option<i32>)>,
    /// Only usage and tool calls are wanted.
    brief: bool,
}

/// The vendor of the built-in agents.
const OWN_VENDOR: &str = "switchboard";

/// Returns whether only the agents of one vendor have such a notice. Warnings, and notices that all agents have, are
/// not vendor-specific.
fn is_vendor_specific(notice: &Notice) -> bool {
    let is_named = notice.name.as_ref().is_some_and(|name| !name.is_empty());
    let is_special = match notice.topic {
        Topic::RateLimit => true,
        Topic::Status | Topic::Snapshot | Topic::ToolSummary | Topic::Step => is_named,
        _ => false,
    };
    is_special && !matches!(notice.level, Level::Warning | Level::Error)
}

/// The conversation that events belong to: the main one, or a subagent's.
#[derive(Clone, Debug, Default, PartialEq)]
struct ConversationScope {
    parent: Option<Id>,
    thread: Option<Id>,
}

struct OpenItem {
    /// The id used in events.
    id: Id,
    /// Its position in the order of starts.
    order: u64,
    item: Item,
    place: ConversationScope,
    at: Timestamp,
}

struct UnresolvedRequest {
    id: Id,
    item: Option<Id>,
    place: ConversationScope,
}

impl RunRecorder {
    pub(crate) fn new(agent: &str, run: u32, next_seq: u64, turns: u32, start: SessionContext) -> Self {
        Self {
            out: Vec::new(),
            next_seq,
            agent: Id::from(agent),
            vendor: crate::find_agent(agent)
                .map(|agent| agent.provider)
                .filter(|vendor| !["", OWN_VENDOR].contains(vendor)),
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
            place: ConversationScope::default(),
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
            names: ItemIds::new(run),
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

    /// Restricts the output to usage and tool calls, or lifts the restriction.
    pub(crate) fn set_brief(&mut self, brief: bool) {
        self.brief = brief;
    }

    /// Returns whether texts, inputs and outputs can be omitted.
    pub(crate) fn is_brief(&self) -> bool {
        self.brief
    }

    /// Prepares for a record.
    pub(crate) fn begin_record(&mut self, native: Option<NativeRecord>, at: Timestamp, measured: Option<Timestamp>) {
        self.measured |= measured.is_some();
        if !self.measured {
            self.tick = at;
        }
        self.tick = measured.unwrap_or(self.tick);
        self.told = None;
        self.native = native;
        self.cause = None;
        self.place = ConversationScope::default();
        self.at = at;
    }

    /// Finishes a record; one that caused no event becomes a notice.
    pub(crate) fn finish_record(&mut self, notice: impl FnOnce() -> Notice) {
        if self.native.is_some() {
            self.write_notice(notice());
        }
        self.cause = None;
        self.place = ConversationScope::default();
    }

    pub(crate) fn drain(&mut self) -> std::vec::Drain<'_, Event> {
        self.out.drain(..)
    }

    /// Corrects the time of the events that were written with an assumed one.
    pub(crate) fn redate_events(&mut self, assumed: Timestamp, told: Timestamp) {
        self.out.iter_mut().filter(|event| event.at == assumed).for_each(|event| event.at = told);
    }

    /// Returns the time that the record itself has, if any.
    pub(crate) fn stated_time(&self) -> Option<Timestamp> {
        self.told
    }

    /// Returns the time of the record being read, as far as it is known.
    #[must_use]
    pub fn current_time(&self) -> Timestamp {
        self.at
    }

    /// Sets the time that the record itself has.
    pub fn set_record_time(&mut self, at: Option<Timestamp>) {
        if let Some(at) = at {
            (self.at, self.told) = (at, Some(at));
            if !self.measured {
                self.tick = at;
                // The first event may have had only the time of its arrival.
                self.began = self.began.min(at);
            }
        }
    }

    /// Attributes the rest of this record to a subagent: its parent item and its thread.
    pub fn set_scope(&mut self, parent: Option<Id>, thread: Option<Id>) {
        self.place = ConversationScope { parent: parent.map(|parent| self.names.current_id(&parent)), thread };
    }

    /// Writes events of the previous records that only the current one shows to be complete. They stay attributed to
    /// the previous record.
    pub fn write_before_record(&mut self, write: impl FnOnce(&mut Self)) {
        if self.carrier.is_none() {
            return;
        }
        let (native, place) = (self.native.take(), self.place.clone());
        let cause = std::mem::replace(&mut self.cause, self.carrier);
        write(self);
        (self.native, self.cause, self.place) = (native, cause, place);
    }

    /// Makes an id unique in the session that is only unique in one process of the agent.
    #[must_use]
    pub fn local_id(&self, id: &str) -> Id {
        Id::from(format!("r{}.{id}", self.run))
    }

    /// Returns what Switchboard knows about the session independently of its agent.
    #[must_use]
    pub fn session_context(&self) -> &SessionContext {
        &self.start
    }

    /// Writes the usage of a reply. A reader reports each model reply once.
    pub fn record_usage(&mut self, usage: Usage) {
        if !usage.is_zero() || usage.cumulative {
            self.record_reported_usage(usage);
        }
    }

    /// Writes usage even if it is zero: the agent explicitly reported that a turn used nothing.
    pub fn record_reported_usage(&mut self, mut usage: Usage) {
        // JSON cannot represent infinity.
        usage.cost_usd = usage.cost_usd.filter(|cost| cost.is_finite());
        self.write_event(None, EventBody::Usage(Box::new(usage)));
    }

    pub fn write_notice(&mut self, notice: Notice) {
        self.write_notice_about(None, notice);
    }

    /// Writes a notice if the record has caused no event yet: every record must cause one.
    pub fn write_notice_if_no_event(&mut self, notice: Notice) {
        if self.native.is_some() {
            self.write_notice(notice);
        }
    }

    pub fn write_notice_about(&mut self, item: Option<Id>, mut notice: Notice) {
        if is_vendor_specific(&notice) {
            notice.vendor = self.vendor.map(str::to_owned);
        }
        self.write_event(item, EventBody::Notice(Box::new(notice)));
    }

    fn write_event(&mut self, item: Option<Id>, body: EventBody) {
        let place = self.place.clone();
        let item = item.map(|item| self.names.current_id(&item));
        self.write_event_at(item, place, body);
    }

    fn write_event_at(&mut self, item: Option<Id>, place: ConversationScope, body: EventBody) {
        self.ensure_started();
        self.push_event(item, place, body);
    }

    fn push_event(&mut self, item: Option<Id>, place: ConversationScope, body: EventBody) {
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
