//! The consumer mapper: converts a unified message for consumers. Every message type is handled; some types are never
//! sent.

mod content;
mod session;
mod speech;
mod tools;

pub use session::map_permission;

use super::{
    State,
    unified::{UnifiedMessage, UnifiedMessageType},
    wire::ServerMessage,
};

/// Maps a message for consumers; none if its type is not sent. `state` already includes the message.
#[must_use]
pub fn map_message(message: &UnifiedMessage, state: &State) -> Option<ServerMessage> {
    match message.kind {
        UnifiedMessageType::Assistant => Some(speech::map_assistant(message, state)),
        UnifiedMessageType::StreamEvent => Some(speech::map_stream_event(message)),
        UnifiedMessageType::UserMessage => Some(speech::map_user_message(message)),
        UnifiedMessageType::Result => Some(session::map_result(message, state)),
        UnifiedMessageType::PermissionRequest => Some(session::map_permission_request(message)),
        UnifiedMessageType::PermissionResponse => Some(session::map_permission_cancelled(message)),
        UnifiedMessageType::ToolProgress => Some(tools::map_progress(message)),
        UnifiedMessageType::ToolUseSummary => Some(tools::map_summary(message)),
        UnifiedMessageType::AuthStatus => Some(session::map_auth_status(message)),
        UnifiedMessageType::ConfigurationChange => {
            let (subtype, metadata) = (session::message_subtype(message), message.metadata.clone());
            Some(ServerMessage::ConfigurationChange { subtype, metadata })
        }
        UnifiedMessageType::SessionLifecycle => {
            let (subtype, metadata) = (session::message_subtype(message), message.metadata.clone());
            Some(ServerMessage::SessionLifecycle { subtype, metadata })
        }
        UnifiedMessageType::Unknown => session::map_process_output(message),
        // Written by the router itself.
        UnifiedMessageType::SessionInit | UnifiedMessageType::StatusChange => None,
        // Never sent: only relevant for the state or the agent, or not a message at all.
        UnifiedMessageType::ControlResponse
        | UnifiedMessageType::Interrupt
        | UnifiedMessageType::TeamMessage
        | UnifiedMessageType::TeamTaskUpdate
        | UnifiedMessageType::TeamStateChange => None,
    }
}
