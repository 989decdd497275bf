//! Subagents: what they are called, so that what one says can be told from what another says.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use switchboard_event::{Event, Id, Subagent};

/// How many are remembered. One may go on in the background after its item ended.
const KNOWN: usize = 256;

/// The subagents of a session, the latest last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Subagents {
    known: VecDeque<Known>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Known {
    item: Id,
    thread: Option<Id>,
    label: String,
}

impl Subagents {
    /// Takes note of a subagent; true if it is new.
    pub fn see(&mut self, item: &Id, subagent: &Subagent) -> bool {
        let (thread, label) = (subagent.thread.clone(), label(subagent).to_owned());
        if let Some(known) = self.known.iter_mut().find(|known| known.item == *item) {
            known.thread = thread.or(known.thread.take());
            known.label = label;
            return false;
        }
        self.known.push_back(Known { item: item.clone(), thread, label });
        if self.known.len() > KNOWN {
            self.known.pop_front();
        }
        true
    }

    /// The id and the label of the subagent whose event this is.
    pub fn of<'a>(&'a self, event: &'a Event) -> (&'a str, &'a str) {
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

/// What a subagent is for, or else what it is.
pub fn label(subagent: &Subagent) -> &str {
    if subagent.label.is_empty() { &subagent.name } else { &subagent.label }
}
