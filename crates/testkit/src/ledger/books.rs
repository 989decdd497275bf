//! Lifecycle rules: items, requests and turns that begin also end. An item's events name one parent and thread, a
//! turn's events its number.

use std::collections::{HashMap, HashSet};

use switchboard_event::{Delta, Event, EventBody, Id, Item, Status};

use super::{InvariantViolation, must};

/// When an id may be used again after its item or request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdReuse {
    /// After another reply of the model, or after it was superseded, as real agents do. Models number their calls anew
    /// in each reply.
    InAnotherReply,
    /// At any time: the stream has repeated lines.
    AfterEnd,
}

pub struct LifecycleInvariants {
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
