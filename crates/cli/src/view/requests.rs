//! Requests of the agent, as far as they are not asked in place: which were declined, by whom, and which expired.

use std::collections::{HashMap, HashSet};

use switchboard_event::{Decider, Event, Id, Outcome, RequestOpened, RequestResolved};

use super::{
    command::unwrapped,
    paper::Block,
    style::{PLAIN, YELLOW},
    viewer::View,
};

/// The requests of a turn.
#[derive(Debug, Default)]
pub struct Requests {
    /// What each open request is about, in our words and in the agent's.
    open: HashMap<Id, (String, String)>,
    /// Items of which it was said that they were declined.
    told: HashSet<Id>,
    /// Items whose content the user saw and approved.
    shown: HashSet<Id>,
}

impl Requests {
    /// It was said that this item was declined.
    pub fn is_told(&self, item: &Id) -> bool {
        self.told.contains(item)
    }

    /// Returns whether the user saw this item's content and approved it.
    pub fn was_shown(&self, item: &Id) -> bool {
        self.shown.contains(item)
    }

    /// Returns whether a request is open.
    pub fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// A text is about an open request: what becomes of it will be told.
    pub fn will_tell(&self, text: &str) -> bool {
        self.open.values().any(|(_, title)| !title.is_empty() && text.ends_with(title))
    }

    /// A turn begins: what was said in the last one does not matter any more.
    pub fn forget(&mut self) {
        (self.told, self.shown) = (HashSet::new(), HashSet::new());
    }
}

impl View {
    pub(super) fn request_opened(&mut self, _: &Event, request: &RequestOpened) {
        let what = match &request.command {
            Some(command) => format!("$ {}", unwrapped(command)),
            None => format!("→ {}", request.title),
        };
        self.requests.open.insert(request.request.clone(), (what, request.title.clone()));
    }

    pub(super) fn request_resolved(&mut self, event: &Event, resolved: &RequestResolved) {
        let (what, _) = self.requests.open.remove(&resolved.request).unwrap_or_default();
        let (word, after) = match resolved.outcome {
            Outcome::Declined => ("declined", ""),
            Outcome::Cancelled => ("declined", ", and the turn stopped"),
            Outcome::Expired => ("not answered in time, so declined", ""),
            Outcome::Allowed | Outcome::Answered | Outcome::Withdrawn => {
                if let (Outcome::Allowed, Decider::Client, Some(id)) = (resolved.outcome, resolved.by, &event.item) {
                    self.requests.shown.insert(id.clone());
                }
                return;
            }
        };
        let by = match resolved.by {
            Decider::Client => " by you",
            Decider::Policy => " by a rule of the session",
            Decider::Timeout | Decider::Agent | Decider::Switchboard => "",
        };
        let why = resolved.message.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let is_owned = event.item.as_ref().is_some_and(|id| self.paper.is_owned(id));
        if !is_owned {
            self.begin(event, Block::Problem);
            self.paper.rows(0, 4, &[(PLAIN, &what)]);
        }
        self.paper.rows(2, 4, &[(YELLOW, "✗ "), (YELLOW, word), (YELLOW, by), (YELLOW, after), (PLAIN, &why)]);
        self.requests.told.extend(event.item.clone());
    }
}
