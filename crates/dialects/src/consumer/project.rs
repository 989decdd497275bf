//! Events to what consumers are told: unified messages, each of them reduced, routed, mapped and numbered; then what is
//! different in the session.

use serde::{Deserialize, Serialize};
use switchboard_event::Event;

use super::{
    PROTOCOL, State,
    map::map,
    reduce::Reduced,
    route::{Handling, route},
    unified::{MessageType, Unified},
    wire::{CapabilitiesReady, CommandOffer, ModelOffer, Sequenced, ServerMessage},
};
use crate::{Messages, Projection, message::Messenger};

/// The projection.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Router {
    messenger: Messenger,
    reduced: Reduced,
    /// How many messages were told.
    told: u64,
}

impl Projection for Router {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        let mut unified = Messages::default();
        self.messenger.event(event, &mut unified);
        for message in unified.iter().filter_map(Unified::read) {
            for told in self.handle(&message) {
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

impl Router {
    /// What the session is like, in what a projection has saved.
    pub fn saved_state(saved: &[u8]) -> Option<State> {
        serde_json::from_slice::<Self>(saved).ok().map(|router| router.reduced.state)
    }

    /// What consumers are told of a message: the message, what follows from it, and what is different now.
    fn handle(&mut self, message: &Unified) -> Vec<ServerMessage> {
        let before = self.reduced.concerns(message).then(|| self.reduced.state.clone());
        if before.is_some() {
            self.reduced.take(message);
        }
        let state = &self.reduced.state;
        let mut told = Vec::new();
        match route(message.kind) {
            Handling::Direct => told.push(direct(message, state)),
            Handling::Mapped | Handling::Filtered | Handling::Printed => told.extend(map(message, state)),
            Handling::Delegated | Handling::Outbound | Handling::Taxonomy | Handling::Traced => {}
        }
        told.extend(connection(message, state));
        if let Some(before) = before.filter(|before| before != state) {
            told.extend(news(&before, state));
            // A newcomer's state is whole, and so is that of a new run.
            if message.kind != MessageType::SessionInit {
                told.push(ServerMessage::SessionUpdate { session: before.difference(state) });
            }
        }
        told
    }
}

/// What the router writes itself.
fn direct(message: &Unified, state: &State) -> ServerMessage {
    if message.kind == MessageType::SessionInit {
        let session = Box::new(state.clone());
        return ServerMessage::SessionInit { session, protocol_version: PROTOCOL, numbering: None };
    }
    let status = message.metadata.text("status");
    ServerMessage::StatusChange { status, metadata: message.metadata.clone() }
}

/// The agent's process began or ended.
fn connection(message: &Unified, state: &State) -> Option<ServerMessage> {
    let about = &message.metadata;
    match message.kind {
        MessageType::SessionInit => Some(ServerMessage::CliConnected { run: state.run }),
        MessageType::SessionLifecycle if about.text("subtype").as_deref() == Some("session_ended") => {
            Some(ServerMessage::CliDisconnected { reason: about.text("reason"), error: about.text("error") })
        }
        _ => None,
    }
}

/// Differences that have a message of their own.
fn news(before: &State, state: &State) -> Vec<ServerMessage> {
    let mut told = Vec::new();
    if before.title != state.title {
        told.extend(state.title.clone().map(|name| ServerMessage::SessionNameUpdate { name }));
    }
    if before.commands != state.commands || before.models != state.models {
        told.push(ServerMessage::CapabilitiesReady(capabilities(state)));
    }
    told
}

fn capabilities(state: &State) -> CapabilitiesReady {
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
