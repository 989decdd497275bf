//! What the session is doing, derived from turns and requests, so that every agent has a status. What an agent says
//! about it itself comes first.

use serde::{Deserialize, Serialize};
use switchboard_event::{Id, SessionStatus};

/// What the session is doing.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Activity {
    shown: Option<SessionStatus>,
    in_turn: bool,
    /// The open requests, with the items that they are about.
    requests: Vec<(Id, Option<Id>)>,
}

impl Activity {
    /// A turn began or ended.
    pub fn turn(&mut self, began: bool) {
        self.in_turn = began;
    }

    /// The agent asks.
    pub fn asked(&mut self, request: &Id, item: Option<&Id>) {
        self.requests.push((request.clone(), item.cloned()));
    }

    /// The agent no longer asks. False if nobody knew that it did.
    pub fn answered(&mut self, request: &Id) -> bool {
        let before = self.requests.len();
        self.requests.retain(|(open, _)| open != request);
        self.requests.len() < before
    }

    /// A run began or ended: nothing is open.
    pub fn reset(&mut self) {
        (self.in_turn, self.requests) = (false, Vec::new());
    }

    /// An item waits for an answer.
    pub fn waits(&self, item: &str) -> bool {
        self.requests.iter().any(|(_, about)| about.as_deref() == Some(item))
    }

    /// The status that was last told, or would be.
    pub fn now(&self) -> SessionStatus {
        self.shown.unwrap_or_else(|| self.settled())
    }

    /// What follows from turns and requests.
    pub fn settled(&self) -> SessionStatus {
        match (self.requests.is_empty(), self.in_turn) {
            (false, _) => SessionStatus::RequiresAction,
            (true, true) => SessionStatus::Running,
            (true, false) => SessionStatus::Idle,
        }
    }

    /// Changes the status; true if that is news.
    pub fn change(&mut self, status: SessionStatus) -> bool {
        self.shown.replace(status) != Some(status)
    }

    /// The status that was last told.
    pub fn shown(&self) -> Option<SessionStatus> {
        self.shown
    }
}
