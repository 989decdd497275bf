//! Items in the format of older `codex exec` documentation: flat, with `item_type` in place of an id, so that a record
//! belongs to the open item of its type. Updates repeat the whole text; only the new part is passed on.

use switchboard_event::{Details, Field, Id, Item, Notice, Status, Topic};

use super::{first_str, items, report_warning};
use crate::{JsonView, RunRecorder};

/// Maximum number of open items; there are eight types, with one item each.
const MAX_OPEN_ITEMS: usize = 32;

#[derive(Default)]
pub struct FlatItems {
    open: Vec<OpenFlatItem>,
    items: u32,
}

struct OpenFlatItem {
    kind: String,
    id: Id,
    /// The text so far.
    whole: String,
    /// Length of the part that was passed on, in bytes.
    sent: usize,
}

impl FlatItems {
    /// Reads a record about an item. Records without a type are ignored.
    pub fn read_record(&mut self, stage: &str, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let Some(kind) = record.as_object().get_non_empty("item_type") else { return };
        recorder.ensure_turn();
        if kind == "error" {
            report_error_item(record, recorder);
        } else {
            let index = self.open_item_index(stage, &kind, recorder);
            match stage {
                "item.completed" => self.complete_item(index, record, recorder),
                _ => self.update_item(index, record, recorder),
            }
        }
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name(stage));
    }

    /// Forgets the items that a turn left open.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    /// Returns the open item of a type, and opens one if needed. A start record closes the previous item of the type.
    fn open_item_index(&mut self, stage: &str, kind: &str, recorder: &mut RunRecorder) -> usize {
        let known = self.open.iter().position(|open| open.kind == kind);
        match known {
            Some(index) if stage != "item.started" => return index,
            Some(index) => {
                let before = self.open.remove(index);
                recorder.item_closed(&before.id, Status::Completed);
            }
            None => {}
        }
        if self.open.len() >= MAX_OPEN_ITEMS {
            self.open.remove(0);
        }
        self.items += 1;
        let id = recorder.local_id(&format!("flat_{}", self.items));
        self.open.push(OpenFlatItem { kind: kind.to_owned(), id, whole: String::new(), sent: 0 });
        self.open.len() - 1
    }

    fn update_item(&mut self, index: usize, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let Some(open) = self.open.get_mut(index) else { return };
        let mut news = items::parse_item(&open.kind, record, recorder.open_item(&open.id), recorder);
        let grown = take_text(&mut news);
        match (recorder.item_is_open(&open.id), &grown) {
            (false, _) if is_ready(&news) => recorder.item_started(&open.id, news),
            (false, _) => return,
            (true, None) => return recorder.item_set(&open.id, news),
            (true, Some((_, whole))) if open.is_continued_by(whole) => {}
            (true, Some(_)) => {
                recorder.item_closed(&open.id, Status::Superseded);
                open.sent = 0;
                recorder.item_started(&open.id, news);
            }
        }
        if let Some((field, whole)) = grown {
            open.append_text(field, whole, recorder);
        }
    }

    fn complete_item(&mut self, index: usize, record: JsonView<'_>, recorder: &mut RunRecorder) {
        if index >= self.open.len() {
            return;
        }
        let open = self.open.remove(index);
        let mut item = items::parse_item(&open.kind, record, recorder.open_item(&open.id), recorder);
        put_text(&mut item, open.whole);
        let status = if item.status == Status::Running { Status::Completed } else { item.status };
        recorder.item_completed(&open.id, item.with_status(status));
    }
}

impl OpenFlatItem {
    /// Returns whether the text extends the part that was passed on. An empty or repeated text does too.
    fn is_continued_by(&self, whole: &str) -> bool {
        whole.is_empty() || whole.get(..self.sent) == self.whole.get(..self.sent)
    }

    fn append_text(&mut self, field: Field, whole: String, recorder: &mut RunRecorder) {
        if whole.len() <= self.sent {
            return;
        }
        // An unfinished text ends with three dots that are not part of it.
        let firm = whole.strip_suffix("...").unwrap_or(&whole);
        if let Some(new) = firm.get(self.sent..).filter(|new| !new.is_empty()) {
            recorder.item_append(&self.id, field, 0, new);
            self.sent = firm.len();
        }
        self.whole = whole;
    }
}

fn report_error_item(record: JsonView<'_>, recorder: &mut RunRecorder) {
    if let Some(message) = first_str(&record.as_object(), &["message", "content", "text"]) {
        report_warning(&message, recorder);
    }
}

/// A tool starts once its input is known; a message starts immediately.
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

/// Takes the growing text out of an item.
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

/// Restores the text that was not passed on, unless the final record repeats it.
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
