//! The state reducer: applies a message to the session state. Messages that are not about the session itself are
//! scanned for team tool calls, which are tracked until they end.

mod session;
mod teams;

use serde::{Deserialize, Serialize};

use super::{
    State,
    map::map_permission,
    unified::{UnifiedMessage, UnifiedMessageType},
};
use teams::TeamCalls;

/// A session state and the data needed to compute the next one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StateReducer {
    /// The session state.
    pub state: State,
    calls: TeamCalls,
}

impl StateReducer {
    /// Returns the next state.
    #[must_use]
    pub fn with_message(mut self, message: &UnifiedMessage) -> Self {
        self.apply_message(message);
        self
    }

    /// Applies a message in place.
    pub fn apply_message(&mut self, message: &UnifiedMessage) {
        let state = &mut self.state;
        match message.kind {
            UnifiedMessageType::SessionInit => state.begin_run(message),
            UnifiedMessageType::StatusChange => state.apply_status(message),
            UnifiedMessageType::Result => state.apply_result(message),
            // A control response may report what the agent offers, like a configuration change.
            UnifiedMessageType::ControlResponse | UnifiedMessageType::ConfigurationChange => {
                state.apply_settings(&message.metadata)
            }
            UnifiedMessageType::SessionLifecycle => state.apply_lifecycle(message),
            UnifiedMessageType::PermissionRequest => {
                let asked = map_permission(message);
                state.pending_permissions.retain(|open| open.request_id != asked.request_id);
                state.pending_permissions.push(asked);
            }
            UnifiedMessageType::PermissionResponse => {
                let answered = message.metadata.get_text("request_id").unwrap_or_default();
                state.pending_permissions.retain(|open| open.request_id != answered);
            }
            _ => self.calls.scan_message(message, &mut state.team),
        }
    }

    /// Returns whether a message can change the state.
    #[must_use]
    pub fn is_affected_by(&self, message: &UnifiedMessage) -> bool {
        match message.kind {
            UnifiedMessageType::StreamEvent | UnifiedMessageType::ToolProgress | UnifiedMessageType::Unknown => false,
            UnifiedMessageType::Assistant | UnifiedMessageType::ToolUseSummary => self.calls.is_affected_by(message),
            _ => true,
        }
    }
}
