//! Whose work is shown: that of the agent itself, or that of a subagent, which is indented under its label.

use std::collections::VecDeque;

use switchboard_event::{Details, Event, Id, Item, Subagent};

use super::{
    paper::Block,
    style::{BOLD, CYAN, DIM},
    viewer::View,
};

/// Maximum number of remembered subagents; the oldest are forgotten.
const REMEMBERED: usize = 64;

/// The subagents that were seen.
#[derive(Debug, Default)]
pub struct Subagents {
    known: VecDeque<Known>,
    /// Whose work was shown last.
    shown: Option<Id>,
}

#[derive(Debug)]
struct Known {
    item: Id,
    thread: Option<Id>,
    label: String,
    depth: usize,
    /// What it said last.
    said: String,
}

impl Subagents {
    /// How deep an event lies.
    pub fn depth(&self, event: &Event) -> usize {
        match (&event.thread, self.of(event)) {
            (None, _) => 0,
            (Some(_), known) => known.map_or(1, |known| known.depth),
        }
    }

    fn of(&self, event: &Event) -> Option<&Known> {
        let by_item = self.known.iter().rfind(|known| Some(&known.item) == event.parent.as_ref());
        by_item.or_else(|| self.known.iter().rfind(|known| known.thread.is_some() && known.thread == event.thread))
    }

    /// Takes note of a subagent, or of what is new about it.
    pub fn see(&mut self, event: &Event, item: &Id, subagent: &Subagent) {
        if let Some(known) = self.known.iter_mut().rfind(|known| known.item == *item) {
            known.thread = subagent.thread.clone().or(known.thread.take());
            return;
        }
        let depth = self.depth(event) + 1;
        if self.known.len() == REMEMBERED {
            self.known.pop_front();
        }
        let (thread, label) = (subagent.thread.clone(), label(subagent).to_owned());
        self.known.push_back(Known { item: item.clone(), thread, label, depth, said: String::new() });
    }

    /// Whose event it is: a subagent's item, else its thread. Nothing for the agent itself.
    fn whose(&self, event: &Event) -> Option<Id> {
        event.thread.as_ref().map(|thread| self.of(event).map_or(thread, |known| &known.item).clone())
    }

    /// The last line that was shown belongs to this subagent, or to the agent itself.
    pub fn show(&mut self, whose: Option<Id>) {
        self.shown = whose;
    }

    /// The last line that was shown belongs to this subagent.
    pub fn is_shown(&self, item: &Id) -> bool {
        self.shown.as_ref() == Some(item)
    }

    /// A subagent said something.
    pub fn said(&mut self, event: &Event, text: &str) {
        let item = self.of(event).map(|known| known.item.clone());
        if let Some(known) = self.known.iter_mut().rfind(|known| Some(&known.item) == item.as_ref()) {
            text.clone_into(&mut known.said);
        }
    }

    /// What a subagent answers was already shown as something that it said.
    pub fn has_said(&self, item: &Id, text: &str) -> bool {
        self.known.iter().rfind(|known| known.item == *item).is_some_and(|known| known.said.trim() == text.trim())
    }
}

/// What a subagent is for.
pub fn label(subagent: &Subagent) -> &str {
    [&subagent.label, &subagent.name].into_iter().find(|text| !text.is_empty()).map_or("subagent", |text| text)
}

impl View {
    /// Begins a part that shows work. Where that is a subagent's and another's was shown last, its label comes first.
    pub(super) fn begin(&mut self, event: &Event, block: Block) {
        // Within a subagent's work all is dense.
        self.paper.begin(if event.thread.is_some() && block != Block::Problem { Block::Work } else { block });
        let whose = self.subagents.whose(event);
        if whose.is_some() && self.subagents.shown != whose {
            let label = self.subagents.of(event).map_or_else(|| "subagent".to_owned(), |known| known.label.clone());
            let depth = std::mem::replace(&mut self.paper.depth, 0);
            self.paper.line(depth.saturating_sub(1) * 2, &[(CYAN, "→ "), (DIM, "agent "), (BOLD, &label)]);
            self.paper.depth = depth;
        }
        self.subagents.show(whose);
    }

    /// An item is a subagent.
    pub(super) fn see_subagent(&mut self, event: &Event, item: &Item) {
        if let (Details::Subagent(subagent), Some(id)) = (&item.details, &event.item) {
            self.subagents.see(event, id, subagent);
        }
    }
}
