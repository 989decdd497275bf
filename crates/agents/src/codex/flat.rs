//! Items as older descriptions of `codex exec` have them: flat, `item_type` instead of an id, so that a record belongs
//! to the open item of its type. Texts in updates are whole texts that grow; only what is new is passed on.

use switchboard_event::{Details, Field, Id, Item, Notice, Status, Topic};

use super::{items, live, names};
use crate::{Json, Scribe};

/// How many items can be open at once: one a type, and there are eight types.
const LIMIT: usize = 32;

/// The open items.
#[derive(Default)]
pub struct Flat {
    open: Vec<Open>,
    items: u32,
}

struct Open {
    kind: String,
    id: Id,
    /// The text that grows, as far as it got.
    whole: String,
    /// How much of it was passed on.
    sent: usize,
}

impl Flat {
    /// One record of the life of an item. What has no type is left.
    pub fn item(&mut self, stage: &str, record: Json<'_>, scribe: &mut Scribe) {
        let Some(kind) = record.object().filled("item_type") else { return };
        scribe.ensure_turn();
        if kind == "error" {
            warn(record, scribe);
        } else {
            let index = self.find(stage, &kind, scribe);
            match stage {
                "item.completed" => self.complete(index, record, scribe),
                _ => self.update(index, record, scribe),
            }
        }
        scribe.otherwise(Notice::new(Topic::Control).with_name(stage));
    }

    /// The turn is over, and with it whatever it left open.
    pub fn forget(&mut self) {
        self.open.clear();
    }

    /// The open item of a type. A beginning closes the one before, and whatever has not begun begins.
    fn find(&mut self, stage: &str, kind: &str, scribe: &mut Scribe) -> usize {
        let known = self.open.iter().position(|open| open.kind == kind);
        match known {
            Some(index) if stage != "item.started" => return index,
            Some(index) => {
                let before = self.open.remove(index);
                scribe.item_closed(&before.id, Status::Completed);
            }
            None => {}
        }
        if self.open.len() >= LIMIT {
            self.open.remove(0);
        }
        self.items += 1;
        let id = scribe.local_id(&format!("flat_{}", self.items));
        self.open.push(Open { kind: kind.to_owned(), id, whole: String::new(), sent: 0 });
        self.open.len() - 1
    }

    fn update(&mut self, index: usize, record: Json<'_>, scribe: &mut Scribe) {
        let Some(open) = self.open.get_mut(index) else { return };
        let mut news = items::item(&open.kind, record, scribe.item(&open.id), scribe);
        let grown = take_text(&mut news);
        match (scribe.item_is_open(&open.id), &grown) {
            (false, _) if is_ready(&news) => scribe.item_started(&open.id, news),
            (false, _) => return,
            (true, None) => return scribe.item_set(&open.id, news),
            (true, Some((_, whole))) if open.goes_on(whole) => {}
            (true, Some(_)) => {
                scribe.item_closed(&open.id, Status::Superseded);
                open.sent = 0;
                scribe.item_started(&open.id, news);
            }
        }
        if let Some((field, whole)) = grown {
            open.grow(field, whole, scribe);
        }
    }

    fn complete(&mut self, index: usize, record: Json<'_>, scribe: &mut Scribe) {
        if index >= self.open.len() {
            return;
        }
        let open = self.open.remove(index);
        let mut item = items::item(&open.kind, record, scribe.item(&open.id), scribe);
        put_text(&mut item, open.whole);
        let status = if item.status == Status::Running { Status::Completed } else { item.status };
        scribe.item_completed(&open.id, item.with_status(status));
    }
}

impl Open {
    /// The text goes on from what was passed on. One that is repeated without news does so too.
    fn goes_on(&self, whole: &str) -> bool {
        whole.is_empty() || whole.get(..self.sent) == self.whole.get(..self.sent)
    }

    fn grow(&mut self, field: Field, whole: String, scribe: &mut Scribe) {
        if whole.len() <= self.sent {
            return;
        }
        // A text that is not finished ends with three dots that are not its own.
        let firm = whole.strip_suffix("...").unwrap_or(&whole);
        if let Some(new) = firm.get(self.sent..).filter(|new| !new.is_empty()) {
            scribe.item_append(&self.id, field, 0, new);
            self.sent = firm.len();
        }
        self.whole = whole;
    }
}

fn warn(record: Json<'_>, scribe: &mut Scribe) {
    if let Some(message) = names::text(&record.object(), &["message", "content", "text"]) {
        live::warn(&message, scribe);
    }
}

/// A tool begins when what it is given is known; what is said begins at once.
fn is_ready(item: &Item) -> bool {
    match &item.details {
        Details::Command(command) => !command.command.is_empty(),
        Details::FileChange(change) => !change.changes.is_empty(),
        Details::Mcp(mcp) => !mcp.tool.is_empty(),
        Details::WebSearch(search) => !search.queries.is_empty(),
        Details::Plan(plan) => !plan.entries.is_empty() || plan.text.is_some(),
        _ => true,
    }
}

/// Takes out of an item the text that grows.
fn take_text(item: &mut Item) -> Option<(Field, String)> {
    match &mut item.details {
        Details::AgentMessage(message) => Some((Field::Text, std::mem::take(&mut message.text))),
        Details::Command(command) => Some((Field::Output, std::mem::take(&mut command.output))),
        Details::Reasoning(reasoning) => {
            let summary = reasoning.summary.take().map(|text| (Field::Summary, text));
            summary.or_else(|| Some((Field::Text, reasoning.text.take().unwrap_or_default())))
        }
        _ => None,
    }
}

/// Puts back what was not passed on, unless the end repeats the text.
fn put_text(item: &mut Item, whole: String) {
    match &mut item.details {
        Details::AgentMessage(message) if whole.starts_with(&message.text) => message.text = whole,
        Details::Command(command) if whole.starts_with(&command.output) => command.output = whole,
        Details::Reasoning(reasoning) => {
            let field = if reasoning.summary.is_some() { &mut reasoning.summary } else { &mut reasoning.text };
            *field = field.take().filter(|text| !whole.starts_with(text.as_str())).or(Some(whole));
        }
        _ => {}
    }
}
