//! Derives the session status from turns and requests, so that every agent has one. A status reported by the agent
//! takes precedence.

use serde::{Deserialize, Serialize};
use switchboard_event::{Id, SessionStatus};

/// The session status and the data it is derived from.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct SessionStatusTracker {
    shown: Option<SessionStatus>,
    in_turn: bool,
    /// The open requests and the items they refer to.
    requests: Vec<(Id, Option<Id>)>,
}

impl SessionStatusTracker {
    /// Records whether a turn is running.
    pub fn set_in_turn(&mut self, began: bool) {
        self.in_turn = began;
    }

    /// Records an open request.
    pub fn open_request(&mut self, request: &Id, item: Option<&Id>) {
        self.requests.push((request.clone(), item.cloned()));
    }

    /// Removes a resolved request. Returns false if it was not open.
    pub fn close_request(&mut self, request: &Id) -> bool {
        let before = self.requests.len();
        self.requests.retain(|(open, _)| open != request);
        self.requests.len() < before
    }

    /// Clears turn and requests at the start or end of a run.
    pub fn reset(&mut self) {
        (self.in_turn, self.requests) = (false, Vec::new());
    }

    /// Returns whether an item waits for an answer.
    pub fn awaits_answer(&self, item: &str) -> bool {
        self.requests.iter().any(|(_, about)| about.as_deref() == Some(item))
    }

    /// Returns the last shown status, or else the derived one.
    pub fn current_status(&self) -> SessionStatus {
        self.shown.unwrap_or_else(|| self.derived_status())
    }

    /// Returns the status derived from turns and requests.
    pub fn derived_status(&self) -> SessionStatus {
        match (self.requests.is_empty(), self.in_turn) {
            (false, _) => SessionStatus::RequiresAction,
            (true, true) => SessionStatus::Running,
            (true, false) => SessionStatus::Idle,
        }
    }

    /// Sets the status; returns whether it changed.
    pub fn set_status(&mut self, status: SessionStatus) -> bool {
        self.shown.replace(status) != Some(status)
    }

    pub fn shown_status(&self) -> Option<SessionStatus> {
        self.shown
    }
}
