//! Controlling a session on a server while it is watched.

use std::{cell::Cell, ops::ControlFlow};

use switchboard_agents::{Abilities, RequestAnswer, find_agent};
use switchboard_client::{RemoteServer, SessionView};
use switchboard_event::Id;

use crate::{sessions::approval_answer, signals::StopSignal, terminal::print_note, watch::SessionControl};

/// What a stop signal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopEffect {
    /// Interrupts the turn, then ends the session: for a session that this command has started.
    StopSession,
    /// Ends the watching only.
    StopWatching,
}

/// A session on a server.
pub struct ServerSession {
    server: RemoteServer,
    id: Id,
    abilities: Abilities,
    stop_effect: StopEffect,
    is_cancelled: Cell<bool>,
}

impl ServerSession {
    /// Creates the control of a session that this command has started.
    pub fn started(server: &RemoteServer, session: &SessionView) -> Self {
        Self::new(server, session, StopEffect::StopSession)
    }

    /// Creates the control of a session that is only watched.
    pub fn watched(server: &RemoteServer, session: &SessionView) -> Self {
        Self::new(server, session, StopEffect::StopWatching)
    }

    fn new(server: &RemoteServer, session: &SessionView, stop_effect: StopEffect) -> Self {
        let abilities = find_agent(&session.agent_id).map_or(Abilities::NONE, |agent| agent.abilities);
        let (server, id) = (server.clone(), session.id.clone());
        Self { server, id, abilities, stop_effect, is_cancelled: Cell::new(false) }
    }

    /// Ends the session. Without an answer of the server, or when asked again, the watching ends.
    async fn cancel(&self) -> ControlFlow<()> {
        if self.is_cancelled.replace(true) {
            return ControlFlow::Break(());
        }
        match self.server.cancel_session(&self.id).await {
            Err(error) if error.is_transient() => {
                print_note(&format!("the session could not be ended: {error}"));
                ControlFlow::Break(())
            }
            // A session that has ended already is fine here.
            _ => ControlFlow::Continue(()),
        }
    }
}

impl SessionControl for ServerSession {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn answer(&self, answer: RequestAnswer) -> Result<(), String> {
        match self.server.answer_approval(&self.id, &answer.request, &approval_answer(&answer)).await {
            Err(error) if matches!(error.code.as_deref(), Some("not_open" | "ended")) => Ok(()),
            other => other.map_err(|error| error.to_string()),
        }
    }

    async fn stop(&self, signal: StopSignal) -> ControlFlow<()> {
        match (self.stop_effect, signal) {
            (StopEffect::StopWatching, _) => ControlFlow::Break(()),
            (StopEffect::StopSession, StopSignal::Interrupt) => {
                // An interrupt of a session that has ended fails, which is fine here.
                drop(self.server.interrupt_turn(&self.id).await);
                ControlFlow::Continue(())
            }
            (StopEffect::StopSession, StopSignal::End) => self.cancel().await,
        }
    }
}
