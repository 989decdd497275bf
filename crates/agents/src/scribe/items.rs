//! The life cycle of items.

use switchboard_event::{Delta, Details, EventBody, Field, Id, Item, Status};

use super::{ConversationScope, OpenItem, RunRecorder};

/// How much text of an open item is kept. Text beyond it is only in the deltas, so that a session's memory stays
/// bounded; an agent that repeats the whole text at the end still gives the whole item.
const MAX_OPEN_TEXT_BYTES: usize = 4 << 20;

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

    pub(super) fn open_ids_in_order(&self, mine: impl Fn(&ConversationScope) -> bool) -> Vec<Id> {
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
