//! The consumer mapper: a unified message as consumers get it. Total: every type and every content has an answer, and
//! the answer for some types is that nobody gets them.

mod content;
mod session;
mod speech;
mod tools;

pub use session::permission;

use super::{
    State,
    unified::{MessageType, Unified},
    wire::ServerMessage,
};

/// What consumers get of a message, if they get it. The state is the one after the message.
#[must_use]
pub fn map(message: &Unified, state: &State) -> Option<ServerMessage> {
    match message.kind {
        MessageType::Assistant => Some(speech::assistant(message, state)),
        MessageType::StreamEvent => Some(speech::stream_event(message)),
        MessageType::UserMessage => Some(speech::user_message(message)),
        MessageType::Result => Some(session::result(message, state)),
        MessageType::PermissionRequest => Some(session::permission_request(message)),
        MessageType::PermissionResponse => Some(session::permission_cancelled(message)),
        MessageType::ToolProgress => Some(tools::progress(message)),
        MessageType::ToolUseSummary => Some(tools::summary(message)),
        MessageType::AuthStatus => Some(session::auth_status(message)),
        MessageType::ConfigurationChange => {
            let (subtype, metadata) = (session::subtype(message), message.metadata.clone());
            Some(ServerMessage::ConfigurationChange { subtype, metadata })
        }
        MessageType::SessionLifecycle => {
            let (subtype, metadata) = (session::subtype(message), message.metadata.clone());
            Some(ServerMessage::SessionLifecycle { subtype, metadata })
        }
        MessageType::Unknown => session::printed(message),
        // The router writes these itself.
        MessageType::SessionInit | MessageType::StatusChange => None,
        // Nobody gets these: they are for the state, for the agent, or no messages at all.
        MessageType::ControlResponse
        | MessageType::Interrupt
        | MessageType::TeamMessage
        | MessageType::TeamTaskUpdate
        | MessageType::TeamStateChange => None,
    }
}
