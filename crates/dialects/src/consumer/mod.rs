//! The consumer protocol: unified messages are reduced to a session state, routed and mapped. Each step is a pure
//! function.
//!
//! * [`unified`] parses unified messages from any source.
//! * [`reduce`] is the state reducer, which produces a [`ConsumerState`]; consumers receive the differences.
//! * [`route`] is the routing table, [`map`] the consumer mapper.
//! * [`wire`] defines the messages of both directions.

pub mod map;
pub mod reduce;
pub mod route;
mod state;
#[cfg(test)]
mod tests;
pub mod unified;
pub mod wire;

use map::map_message;
use reduce::StateReducer;
use route::{MessageHandling, find_handling};
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_event::Event;
use unified::{UnifiedMessage, UnifiedMessageType};
use wire::{CapabilitiesReady, ClientMessage, CommandOffer, ModelOffer, Sequenced, ServerMessage};

use crate::message::MessageProjection;
use crate::projection::restore_projection;
use crate::table::schema_generator;
use crate::{Dialect, MessageBuffer, Projection};

pub use state::ConsumerState;

/// Version of the consumer protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// The consumer dialect: the part of the protocol that is derived from events.
pub(crate) const DIALECT: Dialect = Dialect {
    name: "consumer",
    title: "what consumers get: session_init, session_update, assistant, permission_request, …",
    projection: || Box::new(ConsumerProjection::default()),
    restore: restore_projection::<ConsumerProjection>,
    revision: 2,
    verbatim: false,
    schema: |_| server_message_schema(),
};

/// Returns the session state contained in a saved projection of this dialect.
#[must_use]
pub fn restore_state(saved: &[u8]) -> Option<ConsumerState> {
    ConsumerProjection::saved_state(saved)
}

/// Returns the schema of server messages.
fn server_message_schema() -> Value {
    let mut schema = schema_generator().into_root_schema_for::<Sequenced>().to_value();
    schema["title"] = json!("Consumer server message");
    schema
}

/// Returns the schema of client messages.
pub fn client_message_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<ClientMessage>().to_value();
    schema["title"] = json!("Consumer client message");
    schema
}

/// Projects events to consumer messages.
#[derive(Clone, Default, Serialize, Deserialize)]
struct ConsumerProjection {
    messenger: MessageProjection,
    reduced: StateReducer,
    /// Number of messages sent so far.
    told: u64,
}

impl Projection for ConsumerProjection {
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer) {
        let mut unified = MessageBuffer::default();
        self.messenger.project_event(event, &mut unified);
        for message in unified.iter().filter_map(UnifiedMessage::read) {
            for told in self.handle_message(&message) {
                self.told += 1;
                out.push(&Sequenced { message: told, seq: Some(self.told), timestamp: Some(message.timestamp) });
            }
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

impl ConsumerProjection {
    /// Returns the session state contained in a saved projection.
    fn saved_state(saved: &[u8]) -> Option<ConsumerState> {
        serde_json::from_slice::<Self>(saved).ok().map(|router| router.reduced.state)
    }

    /// Returns the consumer messages for a unified message: the message itself, connection changes, and state changes.
    fn handle_message(&mut self, message: &UnifiedMessage) -> Vec<ServerMessage> {
        let before = self.reduced.is_affected_by(message).then(|| self.reduced.state.clone());
        if before.is_some() {
            self.reduced.apply_message(message);
        }
        let state = &self.reduced.state;
        let mut told = Vec::new();
        match find_handling(message.kind) {
            MessageHandling::Direct => told.push(direct_message(message, state)),
            MessageHandling::Mapped | MessageHandling::Filtered | MessageHandling::Printed => {
                told.extend(map_message(message, state))
            }
            MessageHandling::Delegated
            | MessageHandling::Outbound
            | MessageHandling::Taxonomy
            | MessageHandling::Traced => {}
        }
        told.extend(connection_message(message, state));
        if let Some(before) = before.filter(|before| before != state) {
            told.extend(difference_messages(&before, state));
            // A new run and a new consumer get the complete state.
            if message.kind != UnifiedMessageType::SessionInit {
                told.push(ServerMessage::SessionUpdate { session: before.difference_to(state) });
            }
        }
        told
    }
}

/// Builds the messages that the router writes itself.
fn direct_message(message: &UnifiedMessage, state: &ConsumerState) -> ServerMessage {
    if message.kind == UnifiedMessageType::SessionInit {
        let session = Box::new(state.clone());
        return ServerMessage::SessionInit { session, protocol_version: PROTOCOL_VERSION, numbering: None };
    }
    let status = message.metadata.get_text("status");
    ServerMessage::StatusChange { status, metadata: message.metadata.clone() }
}

/// Reports the start or end of the agent's process.
fn connection_message(message: &UnifiedMessage, state: &ConsumerState) -> Option<ServerMessage> {
    let about = &message.metadata;
    match message.kind {
        UnifiedMessageType::SessionInit => Some(ServerMessage::CliConnected { run: state.run }),
        UnifiedMessageType::SessionLifecycle if about.get_text("subtype").as_deref() == Some("session_ended") => {
            Some(ServerMessage::CliDisconnected { reason: about.get_text("reason"), error: about.get_text("error") })
        }
        _ => None,
    }
}

/// Returns the messages for state changes that have a message type of their own.
fn difference_messages(before: &ConsumerState, state: &ConsumerState) -> Vec<ServerMessage> {
    let mut told = Vec::new();
    if before.title != state.title {
        told.extend(state.title.clone().map(|name| ServerMessage::SessionNameUpdate { name }));
    }
    if before.commands != state.commands || before.models != state.models {
        told.push(ServerMessage::CapabilitiesReady(capabilities_ready(state)));
    }
    told
}

fn capabilities_ready(state: &ConsumerState) -> CapabilitiesReady {
    let command = |command: &switchboard_event::Named| CommandOffer {
        name: command.name.clone(),
        description: command.description.clone().unwrap_or_default(),
    };
    let model = |model: &switchboard_event::Model| ModelOffer {
        value: model.id.clone(),
        display_name: model.name.clone(),
        description: model.description.clone(),
    };
    CapabilitiesReady {
        commands: state.commands.iter().map(command).collect(),
        models: state.models.iter().map(model).collect(),
        account: None,
        skills: Vec::new(),
    }
}
