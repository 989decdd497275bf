//! What begins ends: items, requests, turns. And what belongs together says so: an item's events name one place,
//! a turn's events its number.

use std::collections::{HashMap, HashSet};

use switchboard_event::{Body, Delta, Event, Id, Item, Status};

use super::{Broken, must};

/// When an id may be used again after its item or request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// After another reply of the model, or after it was taken back: what a real agent says. Models number their calls
    /// anew in each reply; within one, what ended has ended.
    InAnotherReply,
    /// At any time: a stream in which lines were repeated.
    AfterEnd,
}

/// What is open.
pub struct Books {
    reuse: Reuse,
    turn: Option<u32>,
    turns: u32,
    items: HashMap<Id, Place>,
    /// The names by which the open tools were shown.
    tools: HashMap<Id, String>,
    requests: HashSet<Id>,
    /// What ended since the last reply was counted.
    ended: HashSet<Id>,
}

/// An item's parent and thread.
type Place = (Option<Id>, Option<Id>);

impl Books {
    pub fn new(reuse: Reuse) -> Self {
        let (items, requests, ended) = (HashMap::new(), HashSet::new(), HashSet::new());
        Self { reuse, turn: None, turns: 0, items, tools: HashMap::new(), requests, ended }
    }

    pub fn see(&mut self, event: &Event) -> Result<(), Broken> {
        if matches!(event.body, Body::TurnStarted(_)) {
            self.turn_started(event)?;
        }
        let (seq, turn, open) = (event.seq, event.turn, self.turn);
        must!(turn == open, "every event names the open turn", "event {seq} names {turn:?}, {open:?} is open");
        match &event.body {
            Body::ItemStarted(item) => {
                self.item_started(event, item.status)?;
                self.tool_is_named(event, item)
            }
            Body::ItemDelta(Delta::Set { patch }) => {
                self.item_is_open(event)?;
                self.tool_is_named(event, patch)
            }
            Body::ItemDelta(_) => self.item_is_open(event),
            Body::ItemCompleted(item) => {
                self.tool_is_named(event, item)?;
                self.tools.remove(item_of(event)?);
                self.item_completed(event, item.status)
            }
            Body::RequestOpened(request) => self.request_opened(&request.request),
            Body::RequestResolved(request) => self.request_resolved(&request.request),
            Body::TurnCompleted(_) => self.turn_completed(event),
            Body::Usage(_) => {
                self.ended.clear();
                Ok(())
            }
            Body::SessionEnded(_) => self.finish(),
            _ => Ok(()),
        }
    }

    fn turn_started(&mut self, event: &Event) -> Result<(), Broken> {
        must!(self.turn.is_none(), "a turn ends before the next", "event {} in turn {:?}", event.seq, self.turn);
        self.turns += 1;
        self.turn = Some(self.turns);
        self.ended.clear();
        Ok(())
    }

    fn turn_completed(&mut self, event: &Event) -> Result<(), Broken> {
        must!(self.turn.take().is_some(), "a turn begins before it ends", "event {}", event.seq);
        Ok(())
    }

    fn item_started(&mut self, event: &Event, status: Status) -> Result<(), Broken> {
        let id = item_of(event)?;
        must!(status == Status::Running, "an item that starts is running", "{id} starts as {status:?}");
        must!(!self.items.contains_key(id), "an item starts once", "{id} starts again at {}", event.seq);
        must!(!self.ended.contains(id), "what ended does not begin again", "{id} begins again at {}", event.seq);
        self.items.insert(id.clone(), (event.parent.clone(), event.thread.clone()));
        Ok(())
    }

    fn tool_is_named(&mut self, event: &Event, item: &Item) -> Result<(), Broken> {
        let (id, call) = (item_of(event)?, item.call.as_ref());
        let Some(name) = call.map(|call| &call.name).filter(|name| !name.is_empty()) else { return Ok(()) };
        let known = self.tools.entry(id.clone()).or_insert_with(|| name.clone());
        must!(known == name, "a tool has one name", "{id} is {known}, then {name} at {}", event.seq);
        Ok(())
    }

    fn item_is_open(&self, event: &Event) -> Result<(), Broken> {
        let (id, kind) = (item_of(event)?, event.body.kind());
        let place = self.items.get(id);
        must!(place.is_some(), "an item is open from its start to its end", "{kind:?} of {id} at {}", event.seq);
        let now = (event.parent.clone(), event.thread.clone());
        must!(place == Some(&now), "an item stays in its place", "{id} is in {place:?}, {kind:?} in {now:?}");
        Ok(())
    }

    fn item_completed(&mut self, event: &Event, status: Status) -> Result<(), Broken> {
        self.item_is_open(event)?;
        let id = item_of(event)?;
        must!(status != Status::Running, "an item that ended is not running", "{id} at {}", event.seq);
        self.items.remove(id);
        if status != Status::Superseded {
            self.end(id);
        }
        Ok(())
    }

    fn request_opened(&mut self, id: &Id) -> Result<(), Broken> {
        must!(!self.ended.contains(id), "what ended does not begin again", "request {id}");
        must!(self.requests.insert(id.clone()), "a request opens once", "{id} opens again");
        Ok(())
    }

    fn request_resolved(&mut self, id: &Id) -> Result<(), Broken> {
        must!(self.requests.remove(id), "a request opens before it is resolved", "{id} was not open");
        self.end(id);
        Ok(())
    }

    fn end(&mut self, id: &Id) {
        if self.reuse == Reuse::InAnotherReply {
            self.ended.insert(id.clone());
        }
    }

    pub fn finish(&self) -> Result<(), Broken> {
        must!(self.items.is_empty(), "every item ends", "open: {:?}", self.items.keys().collect::<Vec<_>>());
        must!(self.requests.is_empty(), "every request is resolved", "open: {:?}", self.requests);
        must!(self.turn.is_none(), "every turn ends", "turn {:?} is open", self.turn);
        Ok(())
    }
}

fn item_of(event: &Event) -> Result<&Id, Broken> {
    let missing = || Broken { rule: "an item event names its item", why: format!("event {} does not", event.seq) };
    event.item.as_ref().filter(|id| !id.is_empty()).ok_or_else(missing)
}
