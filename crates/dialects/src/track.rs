//! What projections remember of a session: open items, how much of their text was sent, usage of the turn, and
//! subagents.

use std::collections::VecDeque;

use foldhash::HashMap;
use serde::{Deserialize, Serialize};
use switchboard_event::{Delta, Details, Event, EventBody, Field, Id, Item, Subagent, Usage};

/// Maximum number of remembered subagents. A subagent may continue in the background after its item ended.
const MAX_REMEMBERED_SUBAGENTS: usize = 256;

/// The open items of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ItemTracker {
    items: HashMap<Id, TrackedItem>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrackedItem {
    /// The item as it started or was last replaced; its text is not updated.
    pub item: Item,
    /// The field whose text is shown: the first that received text.
    pub field: Option<Field>,
    /// Number of bytes sent of that field.
    pub sent: usize,
    /// The last text sent.
    last: String,
}

impl ItemTracker {
    /// Records an item event. Must be called first; a completed item stays until it is removed.
    pub fn observe_event(&mut self, event: &Event) {
        let Some(id) = &event.item else { return };
        match &event.body {
            EventBody::ItemStarted(item) => {
                let tracked = TrackedItem { item: (**item).clone(), field: None, sent: 0, last: String::new() };
                self.items.insert(id.clone(), tracked);
            }
            EventBody::ItemDelta(Delta::Set { patch }) => {
                if let Some(tracked) = self.items.get_mut(&**id) {
                    tracked.item = (**patch).clone();
                }
            }
            _ => {}
        }
    }

    /// Returns an open item.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&TrackedItem> {
        self.items.get(id)
    }

    /// Removes a finished item.
    pub fn finish_item(&mut self, id: &str) -> Option<TrackedItem> {
        self.items.remove(id)
    }

    /// Records appended text and returns the item it belongs to.
    pub fn append_text(&mut self, id: &str, field: Field, text: &str) -> Option<AppendedText<'_>> {
        let tracked = self.items.get_mut(id)?;
        let shown = *tracked.field.get_or_insert(field) == field;
        if shown {
            tracked.sent += text.len();
            tracked.last.clear();
            tracked.last.push_str(text);
        }
        Some(AppendedText { item: &tracked.item, shown })
    }
}

/// Text appended to an item.
pub struct AppendedText<'a> {
    pub item: &'a Item,
    /// The text is shown. If an item receives both text and a summary, only the first to arrive is shown, so that
    /// nothing is repeated.
    pub shown: bool,
}

impl TrackedItem {
    /// Returns the part of a superseded text that was sent. Empty if it cannot be told.
    #[must_use]
    pub fn sent_text<'a>(&self, whole: &'a str) -> &'a str {
        whole.get(..self.sent).filter(|sent| sent.ends_with(&self.last)).unwrap_or_default()
    }

    /// Returns the unsent part of a finished text. Empty if the text does not continue what was sent: an agent may join
    /// deltas differently than it sent them.
    #[must_use]
    pub fn unsent_text<'a>(&self, whole: &'a str) -> &'a str {
        match whole.split_at_checked(self.sent) {
            Some((sent, rest)) if sent.ends_with(&self.last) => rest,
            _ => "",
        }
    }
}

/// Returns the shown text of a text item, by the streamed field if there is one.
#[must_use]
pub fn item_text(item: &Item, grew: Option<Field>) -> &str {
    match &item.details {
        Details::AgentMessage(message) => &message.text,
        Details::Reasoning(reasoning) => {
            let (text, summary) = (reasoning.text.as_deref(), reasoning.summary.as_deref());
            match grew {
                Some(Field::Summary) => summary,
                Some(_) => text,
                None => text.filter(|t| !t.is_empty()).or(summary),
            }
            .unwrap_or_default()
        }
        _ => "",
    }
}

/// The usage of a turn: the sum of all reports except running totals of unknown base.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnUsage {
    total: Usage,
}

impl TurnUsage {
    /// Adds the usage of an event, if it reports any.
    pub fn add_event(&mut self, event: &Event) {
        if let EventBody::Usage(usage) = &event.body
            && !usage.cumulative
        {
            self.total.add(usage);
        }
    }

    /// Returns the sum and starts counting anew.
    pub fn take(&mut self) -> Usage {
        std::mem::take(&mut self.total)
    }
}

/// The subagents of a session, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SubagentLabels {
    known: VecDeque<SubagentEntry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SubagentEntry {
    item: Id,
    thread: Option<Id>,
    label: String,
}

impl SubagentLabels {
    /// Records a subagent; returns whether it is new.
    pub fn record_subagent(&mut self, item: &Id, subagent: &Subagent) -> bool {
        let (thread, label) = (subagent.thread.clone(), subagent_label(subagent).to_owned());
        if let Some(known) = self.known.iter_mut().find(|known| known.item == *item) {
            known.thread = thread.or(known.thread.take());
            known.label = label;
            return false;
        }
        self.known.push_back(SubagentEntry { item: item.clone(), thread, label });
        if self.known.len() > MAX_REMEMBERED_SUBAGENTS {
            self.known.pop_front();
        }
        true
    }

    /// Returns the id and label of the subagent that caused an event.
    pub fn subagent_of<'a>(&'a self, event: &'a Event) -> (&'a str, &'a str) {
        let (parent, thread) = (event.parent.as_ref(), event.thread.as_ref());
        let by_item = self.known.iter().rev().find(|known| Some(&known.item) == parent);
        let known = by_item.or_else(|| {
            thread.and_then(|thread| self.known.iter().rev().find(|known| known.thread.as_ref() == Some(thread)))
        });
        match known {
            Some(known) => (&known.item, &known.label),
            None => (parent.or(thread).map_or("", |id| id.as_str()), ""),
        }
    }
}

/// Returns the label of a subagent, or else its name.
pub fn subagent_label(subagent: &Subagent) -> &str {
    if subagent.label.is_empty() { &subagent.name } else { &subagent.label }
}

#[cfg(test)]
mod tests {
    use switchboard_event::{AgentMessage, Item};

    use super::TrackedItem;

    #[test]
    fn the_rest_goes_on_where_the_pieces_stopped() {
        for (pieces, whole, rest) in [
            (&["a", "b"][..], "abc", "c"),
            (&[], "abc", "abc"),
            (&["one", "two"], "one\n\ntwo", ""),
            (&["abc"], "ab", ""),
            (&["a"], "é", ""),
        ] {
            let tracked = TrackedItem {
                item: Item::new(AgentMessage::default()),
                field: None,
                sent: pieces.concat().len(),
                last: pieces.last().copied().unwrap_or_default().to_owned(),
            };
            assert_eq!(tracked.unsent_text(whole), rest, "{pieces:?} of {whole}");
            let sent = whole.strip_suffix(rest).filter(|sent| *sent == pieces.concat()).unwrap_or_default();
            assert_eq!(tracked.sent_text(whole), sent, "{pieces:?} of {whole}");
        }
    }
}
