//! Ids and labels of subagents, which identify their messages.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use switchboard_event::{Event, Id, Subagent};

/// Maximum number of remembered subagents. A subagent may continue in the background after its item ended.
const MAX_REMEMBERED_SUBAGENTS: usize = 256;

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
