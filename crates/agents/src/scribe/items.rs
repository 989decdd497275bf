//! Items: begun, grown, finished.

use switchboard_event::{Body, Delta, Details, Field, Id, Item, Status};

use super::{Open, Place, Scribe};

/// How much text of an open item is kept. Beyond it only the deltas have it, so that a session's memory stays
/// bounded; an agent that repeats the whole text at the end still gives the whole item.
const KEEP: usize = 4 << 20;

impl Scribe {
    /// Work on an item began. If it had begun already, it is now this.
    pub fn item_started(&mut self, id: &Id, item: Item) {
        if self.item_is_open(id) {
            return self.item_set(id, item);
        }
        let place = self.place.clone();
        self.start_at(id, item, place);
    }

    fn start_at(&mut self, id: &Id, item: Item, place: Place) {
        self.ensure_started();
        self.make_room();
        self.opened += 1;
        let name = self.names.fresh(id);
        let open =
            Open { id: name.clone(), order: self.opened, item: item.clone(), place: place.clone(), at: self.tick };
        self.open.insert(id.clone(), open);
        self.push(Some(name), place, Body::ItemStarted(Box::new(item)));
    }

    /// Text was added to an item that is open; false if it is not, and nothing is written.
    pub fn item_append(&mut self, id: &Id, field: Field, part: u32, text: &str) -> bool {
        let Some(open) = self.open.get_mut(&**id) else {
            return false;
        };
        grow(&mut open.item.details, field, text);
        let (id, place) = (open.id.clone(), open.place.clone());
        self.push(Some(id), place, Body::ItemDelta(Delta::Append { field, part, text: text.to_owned() }));
        true
    }

    /// An open item is now this.
    pub fn item_set(&mut self, id: &str, mut item: Item) {
        let Some(open) = self.open.get_mut(id) else {
            return;
        };
        keep_name(&open.item, &mut item);
        open.item = item.clone();
        let (id, place) = (open.id.clone(), open.place.clone());
        self.push(Some(id), place, Body::ItemDelta(Delta::Set { patch: Box::new(item) }));
    }

    /// An open item is still going on; false if it is not open, and nothing is written.
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
        self.push(Some(id), place, Body::ItemDelta(Delta::Progress { elapsed_ms, ratio, text }));
        true
    }

    /// An item is finished, and this is all of it. One that never began is begun first, without its content.
    /// What the agent does not repeat (the call, the reply, the time it took) is taken from the beginning.
    pub fn item_completed(&mut self, id: &Id, item: Item) {
        if !self.item_is_open(id) {
            let place = self.place.clone();
            self.start_at(id, hollow(&item), place);
        }
        if let Some(open) = self.open.remove(&**id) {
            self.complete(open, item);
        }
    }

    /// An open item is finished as it is; false if it is not open, and nothing is written.
    pub fn item_closed(&mut self, id: &str, status: Status) -> bool {
        let Some(open) = self.open.remove(id) else {
            return false;
        };
        let item = open.item.clone().with_status(status);
        self.complete(open, item);
        true
    }

    fn complete(&mut self, open: Open, mut item: Item) {
        if item.status == Status::Running {
            item.status = Status::Completed;
        }
        keep_name(&open.item, &mut item);
        item.call = item.call.or(open.item.call);
        item.reply = item.reply.or(open.item.reply);
        item.duration_ms = item.duration_ms.or_else(|| Some(self.tick.millis_since(open.at)).filter(|ms| *ms > 0));
        self.push(Some(open.id), open.place, Body::ItemCompleted(Box::new(item)));
    }

    /// An item is open.
    #[must_use]
    pub fn item_is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// An open item as it is now.
    #[must_use]
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.open.get(id).map(|open| &open.item)
    }

    /// Changes an open item without writing an event: news that only matter when it is finished.
    pub fn item_mut(&mut self, id: &str) -> Option<&mut Item> {
        self.open.get_mut(id).map(|open| &mut open.item)
    }

    /// The ids of all open items of the main conversation, or of a subagent's thread, in the order of their beginning.
    #[must_use]
    pub fn open_items(&self, thread: Option<&str>) -> Vec<Id> {
        self.opened_in_order(|place| place.thread.as_deref() == thread)
    }

    pub(super) fn opened_in_order(&self, mine: impl Fn(&Place) -> bool) -> Vec<Id> {
        let mut open: Vec<_> = self.open.iter().filter(|(_, open)| mine(&open.place)).collect();
        open.sort_by_key(|(_, open)| open.order);
        open.into_iter().map(|(id, _)| id.clone()).collect()
    }
}

/// A call that was shown by a name keeps it, also where the agent has another name for it in another record.
fn keep_name(shown: &Item, item: &mut Item) {
    if let (Some(shown), Some(call)) = (&shown.call, &mut item.call)
        && !shown.name.is_empty()
    {
        call.name.clone_from(&shown.name);
    }
}

/// The item as it was when it began: nothing said, nothing printed.
fn hollow(item: &Item) -> Item {
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

pub(super) fn grow(details: &mut Details, field: Field, text: &str) {
    match (details, field) {
        (Details::AgentMessage(m), Field::Text) => m.truncated |= keep(&mut m.text, text),
        (Details::Reasoning(r), Field::Text) => r.truncated |= keep(r.text.get_or_insert_default(), text),
        (Details::Reasoning(r), Field::Summary) => r.truncated |= keep(r.summary.get_or_insert_default(), text),
        (Details::Command(c), Field::Output) => c.truncated |= keep(&mut c.output, text),
        (Details::Plan(p), Field::Text) => {
            keep(p.text.get_or_insert_default(), text);
        }
        (Details::Tool(t), Field::Output) => {
            keep(&mut t.output, text);
        }
        _ => {}
    }
}

/// Adds what fits; true if something did not.
fn keep(kept: &mut String, text: &str) -> bool {
    let room = KEEP.saturating_sub(kept.len());
    if text.len() <= room {
        kept.push_str(text);
        return false;
    }
    let fits = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last().unwrap_or(0);
    kept.push_str(text.get(..fits).unwrap_or_default());
    true
}
