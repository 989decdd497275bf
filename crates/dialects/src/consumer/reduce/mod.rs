//! The state reducer: a state and a message give the next state. What is not about the session itself falls to the
//! team: tool calls that do something in it are remembered until they have ended.

mod session;
mod teams;

use serde::{Deserialize, Serialize};

use super::{
    State,
    map::permission,
    unified::{MessageType, Unified},
};
use teams::Calls;

/// A state, and what is needed to find the next one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reduced {
    /// What the session is like.
    pub state: State,
    calls: Calls,
}

impl Reduced {
    /// The next state.
    #[must_use]
    pub fn next(mut self, message: &Unified) -> Self {
        self.take(message);
        self
    }

    /// The same, in place.
    pub fn take(&mut self, message: &Unified) {
        let state = &mut self.state;
        match message.kind {
            MessageType::SessionInit => state.begin(message),
            MessageType::StatusChange => state.status(message),
            MessageType::Result => state.result(message),
            // An agent's answer to a host may tell what it offers, like a change of its set-up.
            MessageType::ControlResponse | MessageType::ConfigurationChange => state.learn(&message.metadata),
            MessageType::SessionLifecycle => state.lifecycle(message),
            MessageType::PermissionRequest => {
                let asked = permission(message);
                state.pending_permissions.retain(|open| open.request_id != asked.request_id);
                state.pending_permissions.push(asked);
            }
            MessageType::PermissionResponse => {
                let answered = message.metadata.text("request_id").unwrap_or_default();
                state.pending_permissions.retain(|open| open.request_id != answered);
            }
            _ => self.calls.scan(message, &mut state.team),
        }
    }

    /// A message of this type can change something.
    #[must_use]
    pub fn concerns(&self, message: &Unified) -> bool {
        match message.kind {
            MessageType::StreamEvent | MessageType::ToolProgress | MessageType::Unknown => false,
            MessageType::Assistant | MessageType::ToolUseSummary => self.calls.concerns(message),
            _ => true,
        }
    }
}
