//! The life cycle of items: unique ids, start, updates, completion, and the closing of what an agent leaves open.

use switchboard_event::{
    Decider, Delta, Details, EndReason, ErrorCode, EventBody, Fault, Field, Id, Item, Outcome, RequestResolved, Status,
    Stop, TurnCompleted, TurnStatus,
};

use super::{ConversationScope, OpenItem, RunRecorder, SessionEnding};
use crate::bounded::BoundedMap;

/// How much text of an open item is kept. Text beyond it is only in the deltas, so that a session's memory stays
/// bounded; an agent that repeats the whole text at the end still gives the whole item.
const MAX_OPEN_TEXT_BYTES: usize = 4 << 20;

/// The maximum number of open items and of open requests. No agent needs as many; a broken one must not exhaust memory.
const MAX_OPEN_ENTRIES: usize = 4096;

/// The maximum number of remembered ids. An agent that repeats one does so soon.
const MAX_REMEMBERED_IDS: usize = 4096;

impl RunRecorder {
    /// Starts an item, or replaces it if it is open.
    pub fn item_started(&mut self, id: &Id, item: Item) {
        if self.item_is_open(id) {
            return self.item_set(id, item);
        }
        let place = self.place.clone();
        self.start_item_at(id, item, place);
    }

    fn start_item_at(&mut self, id: &Id, item: Item, place: ConversationScope) {
        self.ensure_started();
        self.evict_oldest_open();
        self.opened += 1;
        let name = self.names.next_id(id);
        let open =
            OpenItem { id: name.clone(), order: self.opened, item: item.clone(), place: place.clone(), at: self.tick };
        self.open.insert(id.clone(), open);
        self.push_event(Some(name), place, EventBody::ItemStarted(Box::new(item)));
    }

    /// Appends text to an open item. Returns false, and writes nothing, if it is not open.
    pub fn item_append(&mut self, id: &Id, field: Field, part: u32, text: &str) -> bool {
        let Some(open) = self.open.get_mut(&**id) else {
            return false;
        };
        append_text(&mut open.item.details, field, text);
        let (id, place) = (open.id.clone(), open.place.clone());
        self.push_event(Some(id), place, EventBody::ItemDelta(Delta::Append { field, part, text: text.to_owned() }));
        true
    }

    /// Replaces an open item.
    pub fn item_set(&mut self, id: &str, mut item: Item) {
        let Some(open) = self.open.get_mut(id) else {
            return;
        };
        keep_call_name(&open.item, &mut item);
        open.item = item.clone();
        let (id, place) = (open.id.clone(), open.place.clone());
        self.push_event(Some(id), place, EventBody::ItemDelta(Delta::Set { patch: Box::new(item) }));
    }

    /// Reports progress of an open item. Returns false, and writes nothing, if it is not open.
    pub fn item_progress(
        &mut self,
        id: &str,
        elapsed_ms: Option<u64>,
        ratio: Option<f64>,
        text: Option<String>,
    ) -> bool {
        let Some(open) = self.open.get(id) else {
            return false;
        };
        let (id, place) = (open.id.clone(), open.place.clone());
        self.push_event(Some(id), place, EventBody::ItemDelta(Delta::Progress { elapsed_ms, ratio, text }));
        true
    }

    /// Completes an item with its full content. One that never began is started first, without its content. Fields that
    /// the agent does not repeat (the call, the reply, the duration) are taken from the beginning.
    pub fn item_completed(&mut self, id: &Id, item: Item) {
        if !self.item_is_open(id) {
            let place = self.place.clone();
            self.start_item_at(id, without_content(&item), place);
        }
        if let Some(open) = self.open.remove(&**id) {
            self.complete_open_item(open, item);
        }
    }

    /// Completes an open item as it is. Returns false, and writes nothing, if it is not open.
    pub fn item_closed(&mut self, id: &str, status: Status) -> bool {
        let Some(open) = self.open.remove(id) else {
            return false;
        };
        let item = open.item.clone().with_status(status);
        self.complete_open_item(open, item);
        true
    }

    fn complete_open_item(&mut self, open: OpenItem, mut item: Item) {
        if item.status == Status::Running {
            item.status = Status::Completed;
        }
        keep_call_name(&open.item, &mut item);
        item.call = item.call.or(open.item.call);
        item.reply = item.reply.or(open.item.reply);
        item.duration_ms = item.duration_ms.or_else(|| Some(self.tick.millis_since(open.at)).filter(|ms| *ms > 0));
        self.push_event(Some(open.id), open.place, EventBody::ItemCompleted(Box::new(item)));
    }

    #[must_use]
    pub fn item_is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// Returns the current state of an open item.
    #[must_use]
    pub fn open_item(&self, id: &str) -> Option<&Item> {
        self.open.get(id).map(|open| &open.item)
    }

    /// Changes an open item without writing an event, for details that only matter at its completion.
    pub fn item_mut(&mut self, id: &str) -> Option<&mut Item> {
        self.open.get_mut(id).map(|open| &mut open.item)
    }

    /// Returns the ids of all open items of the main conversation, or of a subagent's thread, in the order of their
    /// start.
    #[must_use]
    pub fn open_items(&self, thread: Option<&str>) -> Vec<Id> {
        self.open_ids_in_order(|place| place.thread.as_deref() == thread)
    }

    fn open_ids_in_order(&self, mine: impl Fn(&ConversationScope) -> bool) -> Vec<Id> {
        let mut open: Vec<_> = self.open.iter().filter(|(_, open)| mine(&open.place)).collect();
        open.sort_by_key(|(_, open)| open.order);
        open.into_iter().map(|(id, _)| id.clone()).collect()
    }
}

/// A call keeps the name it was shown with, even if the agent uses another one in a later record.
fn keep_call_name(shown: &Item, item: &mut Item) {
    if let (Some(shown), Some(call)) = (&shown.call, &mut item.call)
        && !shown.name.is_empty()
    {
        call.name.clone_from(&shown.name);
    }
}

/// Returns the item as it was at its start: without text and output.
fn without_content(item: &Item) -> Item {
    let mut item = item.clone().with_status(Status::Running);
    item.duration_ms = None;
    if let Some(call) = &mut item.call {
        call.error = None;
        call.content.clear();
    }
    match &mut item.details {
        Details::AgentMessage(message) => message.text.clear(),
        Details::Reasoning(reasoning) => (reasoning.text, reasoning.summary) = (None, None),
        Details::Command(command) => {
            command.output.clear();
            command.exit_code = None;
        }
        Details::Mcp(mcp) => (mcp.result, mcp.error) = (None, None),
        Details::WebSearch(search) => search.results = None,
        Details::Tool(tool) => {
            tool.output.clear();
            tool.result = None;
        }
        Details::Subagent(subagent) => subagent.result = None,
        Details::FileChange(change) => change.output = None,
        Details::Plan(plan) => plan.output = None,
        Details::UserMessage(_) | Details::Unknown(_) => {}
    }
    item
}

pub(super) fn append_text(details: &mut Details, field: Field, text: &str) {
    match (details, field) {
        (Details::AgentMessage(m), Field::Text) => m.truncated |= append_bounded(&mut m.text, text),
        (Details::Reasoning(r), Field::Text) => r.truncated |= append_bounded(r.text.get_or_insert_default(), text),
        (Details::Reasoning(r), Field::Summary) => {
            r.truncated |= append_bounded(r.summary.get_or_insert_default(), text)
        }
        (Details::Command(c), Field::Output) => c.truncated |= append_bounded(&mut c.output, text),
        (Details::Plan(p), Field::Text) => {
            append_bounded(p.text.get_or_insert_default(), text);
        }
        (Details::Tool(t), Field::Output) => {
            append_bounded(&mut t.output, text);
        }
        _ => {}
    }
}

/// Appends as much as fits; returns true if something did not.
fn append_bounded(kept: &mut String, text: &str) -> bool {
    let room = MAX_OPEN_TEXT_BYTES.saturating_sub(kept.len());
    if text.len() <= room {
        kept.push_str(text);
        return false;
    }
    let fits = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last().unwrap_or(0);
    kept.push_str(text.get(..fits).unwrap_or_default());
    true
}

impl RunRecorder {
    /// Closes the oldest open items and requests if there are too many.
    pub(super) fn evict_oldest_open(&mut self) {
        if self.open.len() >= MAX_OPEN_ENTRIES {
            let oldest = self.open_ids_in_order(|_| true).into_iter().take(MAX_OPEN_ENTRIES / 4);
            for id in oldest {
                self.item_closed(&id, Status::Interrupted);
            }
        }
        if self.requests.len() >= MAX_OPEN_ENTRIES {
            let oldest: Vec<_> = self.requests.iter().take(MAX_OPEN_ENTRIES / 4).map(|open| open.id.clone()).collect();
            for request in oldest {
                self.request_resolved(RequestResolved { request, ..RequestResolved::default() });
            }
        }
    }

    /// Closes the items of the turn. A background subagent outlives a turn that completed.
    pub(super) fn close_turn_items(&mut self, status: TurnStatus) {
        let all = status != TurnStatus::Completed;
        self.close_requests(|place| all || place.thread.is_none());
        self.close_items(status, |place| all || place.thread.is_none());
    }

    /// Closes a turn that the agent never ended although it began another.
    pub(super) fn close_stale_turn(&mut self) {
        if self.turn.is_some() {
            let status = if self.interrupted { TurnStatus::Interrupted } else { TurnStatus::Completed };
            self.close_turn_items(status);
            let stop = if self.interrupted { Stop::Cancelled } else { Stop::EndTurn };
            self.end_turn(TurnCompleted { status, stop, ..TurnCompleted::default() });
        }
    }

    /// Closes everything at the end of the session.
    pub(super) fn close_all(&mut self, ending: &SessionEnding) {
        let (status, stop) = match ending.reason {
            EndReason::Completed => (TurnStatus::Completed, Stop::EndTurn),
            EndReason::Cancelled => (TurnStatus::Interrupted, Stop::Cancelled),
            EndReason::Failed | EndReason::Timeout => (TurnStatus::Failed, Stop::Error),
        };
        self.close_requests(|_| true);
        self.close_items(status, |_| true);
        if self.turn.is_some() {
            let error = match status {
                TurnStatus::Failed => ending.error.clone(),
                TurnStatus::Interrupted => Some(Fault::new(ErrorCode::Aborted, "interrupted")),
                TurnStatus::Completed => None,
            };
            self.end_turn(TurnCompleted { status, stop, error, ..TurnCompleted::default() });
        }
    }

    fn close_requests(&mut self, mine: impl Fn(&ConversationScope) -> bool) {
        let ids: Vec<_> = self.requests.iter().filter(|open| mine(&open.place)).map(|open| open.id.clone()).collect();
        for request in ids {
            let outcome = if self.interrupted { Outcome::Cancelled } else { Outcome::Withdrawn };
            self.request_resolved(RequestResolved {
                request,
                outcome,
                by: Decider::Switchboard,
                ..RequestResolved::default()
            });
        }
    }

    fn close_items(&mut self, turn: TurnStatus, mine: impl Fn(&ConversationScope) -> bool) {
        let ids = self.open_ids_in_order(mine);
        // Children first: a subagent's items end before their parent item.
        for id in ids.into_iter().rev() {
            let status = self.open_item(&id).map_or(Status::Interrupted, |item| status_left_open(&item.details, turn));
            self.item_closed(&id, status);
        }
    }
}

/// A message is complete when its turn is; a tool without a result did not finish.
fn status_left_open(details: &Details, turn: TurnStatus) -> Status {
    match (details, turn) {
        (
            Details::AgentMessage(_) | Details::Reasoning(_) | Details::Plan(_) | Details::UserMessage(_),
            TurnStatus::Completed,
        ) => Status::Completed,
        _ => Status::Interrupted,
    }
}

/// The ids of items so far.
pub struct ItemIds {
    used: BoundedMap<u32, MAX_REMEMBERED_IDS>,
    nameless: Id,
}

impl ItemIds {
    pub fn new(run: u32) -> Self {
        Self { used: BoundedMap::default(), nameless: Id::from(format!("r{run}.nameless")) }
    }

    /// Returns the id for a new item, given the agent's.
    pub fn next_id(&mut self, agents: &Id) -> Id {
        match self.used.get_mut(agents) {
            Some(times) => *times = times.saturating_add(1),
            None => {
                self.used.insert(agents.clone(), 1);
            }
        }
        self.current_id(agents)
    }

    /// Returns the id of the latest item with this agent id.
    pub fn current_id(&self, agents: &Id) -> Id {
        let name = if agents.is_empty() { &self.nameless } else { agents };
        match self.used.get(agents) {
            Some(times) if *times > 1 => Id::from(format!("{name}~{times}")),
            _ => name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {

    use switchboard_event::Id;

    use super::ItemIds;

    #[test]
    fn an_id_is_given_once() {
        let mut names = ItemIds::new(2);
        let mut fresh = |id: &str| names.next_id(&Id::from(id)).to_string();
        assert_eq!(fresh("a"), "a");
        assert_eq!(fresh("a"), "a~2");
        assert_eq!(fresh("b"), "b");
        assert_eq!(fresh(""), "r2.nameless");
        assert_eq!(fresh(""), "r2.nameless~2");
        assert_eq!(names.current_id(&Id::from("a")), "a~2");
        assert_eq!(names.current_id(&Id::from("never seen")), "never seen");
    }
}
