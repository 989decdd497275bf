//! The invariants of a session's events, checked event by event in constant memory: the sequence is dense, everything
//! that begins ends, and every native record is on exactly one event.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use switchboard_event::{Delta, Event, EventBody, Id, Item, Status, Timestamp};

use crate::stream_checker::ExpectedRecord;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvariantViolation {
    /// The invariant, in a few words.
    pub rule: &'static str,
    /// The observation that violates it.
    pub why: String,
}

impl fmt::Display for InvariantViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.why)
    }
}

impl std::error::Error for InvariantViolation {}

/// Returns an [`Err`] with the rule unless it holds.
macro_rules! must {
    ($holds:expr, $rule:literal, $($why:tt)+) => {
        if !$holds {
            return Err($crate::ledger::InvariantViolation { rule: $rule, why: format!($($why)+) });
        }
    };
}

pub(crate) use must;

/// Records without an event yet, and the event that carries the last record.
#[derive(Default)]
struct NativeRecordInvariants {
    waiting: VecDeque<ExpectedRecord>,
    carrier: Option<u64>,
    /// An event without a cause was seen, which only the end of the stream produces.
    at_end: bool,
}

impl NativeRecordInvariants {
    pub fn expect_record(&mut self, said: ExpectedRecord) {
        self.waiting.push_back(said);
    }

    pub fn check_event(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        let seq = event.seq;
        match (&event.native, event.cause) {
            (Some(_), Some(cause)) => {
                must!(false, "an event has a record or a cause", "event {seq} has a record and cause {cause}");
            }
            (Some(native), None) => {
                let got = ExpectedRecord::from(native);
                let want = self.waiting.pop_front();
                must!(
                    want.as_ref() == Some(&got),
                    "native in = native out",
                    "event {seq} has {}, the next record is {}",
                    describe_record(Some(&got)),
                    describe_record(want.as_ref())
                );
                self.carrier = Some(seq);
            }
            (None, Some(cause)) => {
                must!(
                    Some(cause) == self.carrier,
                    "cause is the event with the record",
                    "event {seq} names {cause}, the record is on {:?}",
                    self.carrier
                );
            }
            (None, None) => self.at_end = true,
        }
        let caused = event.native.is_some() || event.cause.is_some();
        must!(
            !(caused && self.at_end),
            "only the end of the stream has no record",
            "event {seq} has one after an event without"
        );
        Ok(())
    }

    pub fn finish(&self) -> Result<(), InvariantViolation> {
        let lost = self.waiting.len();
        must!(
            lost == 0,
            "native in = native out",
            "{lost} records are on no event, first {}",
            describe_record(self.waiting.front())
        );
        Ok(())
    }
}

fn describe_record(said: Option<&ExpectedRecord>) -> String {
    let Some(said) = said else { return "none".to_owned() };
    let text: String = String::from_utf8_lossy(&said.bytes).chars().take(160).collect();
    format!("{:?} {:?} {text}", said.dir, said.form)
}

/// Checks the events of one session.
pub struct SessionInvariants {
    seq: u64,
    at: Timestamp,
    named: Option<(Id, Id, u32)>,
    ended: bool,
    natives: NativeRecordInvariants,
    books: LifecycleInvariants,
}

impl SessionInvariants {
    /// Starts at the beginning of a session.
    #[must_use]
    pub fn new(reuse: IdReuse) -> Self {
        let (at, natives, books) =
            (Timestamp::default(), NativeRecordInvariants::default(), LifecycleInvariants::new(reuse));
        Self { seq: 0, at, named: None, ended: false, natives, books }
    }

    /// Adds a native record whose event must follow.
    pub fn expect_record(&mut self, said: ExpectedRecord) {
        self.natives.expect_record(said);
    }

    /// Checks the next event.
    pub fn check_event(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        must!(event.seq == self.seq + 1, "seq is dense", "{} after {}", event.seq, self.seq);
        self.seq = event.seq;
        must!(event.at >= self.at, "times never go back", "event {} is of {}, after {}", event.seq, event.at, self.at);
        self.at = event.at;
        must!(!self.ended, "session.ended is the last event", "{:?} follows it", event.body.kind());
        let is_first = event.seq == 1;
        must!(
            is_first == matches!(event.body, EventBody::SessionStarted(_)),
            "session.started is the first event and no other",
            "event {} is {:?}",
            event.seq,
            event.body.kind()
        );
        self.check_identity(event)?;
        check_round_trip(event)?;
        self.natives.check_event(event)?;
        self.books.check_event(event)?;
        self.ended = matches!(event.body, EventBody::SessionEnded(_));
        Ok(())
    }

    /// Checks that session, agent and run are the same on every event.
    fn check_identity(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        let name = (event.session.clone(), event.agent.clone(), event.run);
        let first = self.named.get_or_insert_with(|| name.clone());
        must!(*first == name, "all events are of one session", "{first:?}, then {name:?} at {}", event.seq);
        must!(!event.session.is_empty(), "every event names its session", "event {} does not", event.seq);
        Ok(())
    }

    /// Checks that nothing is missing after the last event.
    pub fn finish(&self) -> Result<(), InvariantViolation> {
        must!(self.ended, "session.ended is the last event", "it never came, after {} events", self.seq);
        self.books.finish()?;
        self.natives.finish()
    }
}

/// Checks that an event survives serialization unchanged.
fn check_round_trip(event: &Event) -> Result<(), InvariantViolation> {
    let json = serde_json::to_string(event).unwrap_or_default();
    let again = Event::from_json(&json).ok().and_then(|event| serde_json::to_string(&event).ok());
    must!(
        again.as_ref() == Some(&json),
        "an event has one form on the wire",
        "event {} was written as {json}",
        event.seq
    );
    Ok(())
}

/// When an id may be used again after its item or request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdReuse {
    /// After another reply of the model, or after it was superseded, as real agents do. Models number their calls anew
    /// in each reply.
    InAnotherReply,
    /// At any time: the stream has repeated lines.
    AfterEnd,
}

struct LifecycleInvariants {
    reuse: IdReuse,
    turn: Option<u32>,
    turns: u32,
    items: HashMap<Id, ItemParentAndThread>,
    /// The first name of each open tool.
    tools: HashMap<Id, String>,
    requests: HashSet<Id>,
    /// Ids that ended since the last usage event.
    ended: HashSet<Id>,
}

type ItemParentAndThread = (Option<Id>, Option<Id>);

impl LifecycleInvariants {
    pub fn new(reuse: IdReuse) -> Self {
        let (items, requests, ended) = (HashMap::new(), HashSet::new(), HashSet::new());
        Self { reuse, turn: None, turns: 0, items, tools: HashMap::new(), requests, ended }
    }

    pub fn check_event(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        if matches!(event.body, EventBody::TurnStarted(_)) {
            self.start_turn(event)?;
        }
        let (seq, turn, open) = (event.seq, event.turn, self.turn);
        must!(turn == open, "every event names the open turn", "event {seq} names {turn:?}, {open:?} is open");
        match &event.body {
            EventBody::ItemStarted(item) => {
                self.start_item(event, item.status)?;
                self.check_tool_name(event, item)
            }
            EventBody::ItemDelta(Delta::Set { patch }) => {
                self.check_item_open(event)?;
                self.check_tool_name(event, patch)
            }
            EventBody::ItemDelta(_) => self.check_item_open(event),
            EventBody::ItemCompleted(item) => {
                self.check_tool_name(event, item)?;
                self.tools.remove(item_id(event)?);
                self.complete_item(event, item.status)
            }
            EventBody::RequestOpened(request) => self.open_request(&request.request),
            EventBody::RequestResolved(request) => self.resolve_request(&request.request),
            EventBody::TurnCompleted(_) => self.complete_turn(event),
            EventBody::Usage(_) => {
                self.ended.clear();
                Ok(())
            }
            EventBody::SessionEnded(_) => self.finish(),
            _ => Ok(()),
        }
    }

    fn start_turn(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        must!(self.turn.is_none(), "a turn ends before the next", "event {} in turn {:?}", event.seq, self.turn);
        self.turns += 1;
        self.turn = Some(self.turns);
        self.ended.clear();
        Ok(())
    }

    fn complete_turn(&mut self, event: &Event) -> Result<(), InvariantViolation> {
        must!(self.turn.take().is_some(), "a turn begins before it ends", "event {}", event.seq);
        Ok(())
    }

    fn start_item(&mut self, event: &Event, status: Status) -> Result<(), InvariantViolation> {
        let id = item_id(event)?;
        must!(status == Status::Running, "an item that starts is running", "{id} starts as {status:?}");
        must!(!self.items.contains_key(id), "an item starts once", "{id} starts again at {}", event.seq);
        must!(!self.ended.contains(id), "what ended does not begin again", "{id} begins again at {}", event.seq);
        self.items.insert(id.clone(), (event.parent.clone(), event.thread.clone()));
        Ok(())
    }

    fn check_tool_name(&mut self, event: &Event, item: &Item) -> Result<(), InvariantViolation> {
        let (id, call) = (item_id(event)?, item.call.as_ref());
        let Some(name) = call.map(|call| &call.name).filter(|name| !name.is_empty()) else { return Ok(()) };
        let known = self.tools.entry(id.clone()).or_insert_with(|| name.clone());
        must!(known == name, "a tool has one name", "{id} is {known}, then {name} at {}", event.seq);
        Ok(())
    }

    fn check_item_open(&self, event: &Event) -> Result<(), InvariantViolation> {
        let (id, kind) = (item_id(event)?, event.body.kind());
        let place = self.items.get(id);
        must!(place.is_some(), "an item is open from its start to its end", "{kind:?} of {id} at {}", event.seq);
        let now = (event.parent.clone(), event.thread.clone());
        must!(place == Some(&now), "an item stays in its place", "{id} is in {place:?}, {kind:?} in {now:?}");
        Ok(())
    }

    fn complete_item(&mut self, event: &Event, status: Status) -> Result<(), InvariantViolation> {
        self.check_item_open(event)?;
        let id = item_id(event)?;
        must!(status != Status::Running, "an item that ended is not running", "{id} at {}", event.seq);
        self.items.remove(id);
        if status != Status::Superseded {
            self.mark_ended(id);
        }
        Ok(())
    }

    fn open_request(&mut self, id: &Id) -> Result<(), InvariantViolation> {
        must!(!self.ended.contains(id), "what ended does not begin again", "request {id}");
        must!(self.requests.insert(id.clone()), "a request opens once", "{id} opens again");
        Ok(())
    }

    fn resolve_request(&mut self, id: &Id) -> Result<(), InvariantViolation> {
        must!(self.requests.remove(id), "a request opens before it is resolved", "{id} was not open");
        self.mark_ended(id);
        Ok(())
    }

    fn mark_ended(&mut self, id: &Id) {
        if self.reuse == IdReuse::InAnotherReply {
            self.ended.insert(id.clone());
        }
    }

    pub fn finish(&self) -> Result<(), InvariantViolation> {
        must!(self.items.is_empty(), "every item ends", "open: {:?}", self.items.keys().collect::<Vec<_>>());
        must!(self.requests.is_empty(), "every request is resolved", "open: {:?}", self.requests);
        must!(self.turn.is_none(), "every turn ends", "turn {:?} is open", self.turn);
        Ok(())
    }
}

fn item_id(event: &Event) -> Result<&Id, InvariantViolation> {
    let missing =
        || InvariantViolation { rule: "an item event names its item", why: format!("event {} does not", event.seq) };
    event.item.as_ref().filter(|id| !id.is_empty()).ok_or_else(missing)
}
