//! What one connection to an editor shares: the server behind it, the agent, what the editor can show, open sessions.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use agent_client_protocol::{Client, Result, v1::ConnectionTo};
use parking_lot::Mutex;
use switchboard_agents::Agent;
use switchboard_dialects::acp::AcpClientCapabilities;
use switchboard_event::SessionConfig;

use super::{errors, flow::Flow, open::Open};
use crate::Service;

/// The agent that an editor gets, and how it is run where the editor does not say.
#[derive(Clone)]
pub struct Front {
    /// The agent.
    pub agent: &'static Agent,
    /// Settings of new sessions.
    pub config: SessionConfig,
    /// The program and its arguments, for an agent that is named by its command.
    pub command: Vec<String>,
    /// Variables to set for the agent.
    pub env: BTreeMap<String, String>,
}

/// A connection to an editor. Cloning it is cheap.
#[derive(Clone)]
pub struct Editor(Arc<Inner>);

struct Inner {
    service: Service,
    front: Front,
    flow: Flow,
    shows: Mutex<AcpClientCapabilities>,
    open: Mutex<HashMap<String, Arc<Open>>>,
}

/// The way to the editor.
pub type Line = ConnectionTo<Client>;

impl Editor {
    pub fn new(service: Service, front: Front, flow: Flow) -> Self {
        // Until it says what it can show, it is shown the least.
        let shows = AcpClientCapabilities {
            notices: false,
            compaction: false,
            forms: false,
            terminals: false,
            extensions: false,
        };
        Self(Arc::new(Inner { service, front, flow, shows: Mutex::new(shows), open: Mutex::default() }))
    }

    pub fn service(&self) -> &Service {
        &self.0.service
    }

    pub fn front(&self) -> &Front {
        &self.0.front
    }

    pub fn flow(&self) -> &Flow {
        &self.0.flow
    }

    /// What it can show.
    pub fn shows(&self) -> AcpClientCapabilities {
        *self.0.shows.lock()
    }

    /// It said what it can show.
    pub fn can_show(&self, abilities: AcpClientCapabilities) {
        *self.0.shows.lock() = abilities;
    }

    /// Keeps a session that was opened; one that was open under the same id is let go, unless it has a prompt: only it
    /// knows how to answer that.
    pub fn keep(&self, new: &Arc<Open>) -> Result<()> {
        let id = new.id().to_string();
        let mut open = self.0.open.lock();
        if let Some(before) = open.get(&id) {
            free(before)?;
            before.leave();
        }
        open.insert(id, new.clone());
        Ok(())
    }

    /// Fails if a session is open and has a prompt that is not answered.
    pub fn check_free(&self, id: &str) -> Result<()> {
        let open = self.0.open.lock();
        open.get(id).map_or(Ok(()), |open| free(open))
    }

    /// Notes a prompt of a session that is open; from then on the session is kept until it is answered.
    pub fn draw(&self, id: &str, text: &str) -> Result<(Arc<Open>, u64)> {
        let open = self.0.open.lock();
        let open = open.get(id).ok_or_else(|| errors::not_open(id))?;
        let ticket = open.tickets().draw(text);
        Ok((open.clone(), ticket))
    }

    /// A session that is open.
    pub fn find(&self, id: &str) -> Result<Arc<Open>> {
        let open = self.0.open.lock();
        open.get(id).cloned().ok_or_else(|| errors::not_open(id))
    }

    /// The editor no longer wants a session.
    pub fn forget(&self, id: &str) -> Result<Arc<Open>> {
        let mut open = self.0.open.lock();
        open.remove(id).ok_or_else(|| errors::not_open(id))
    }

    /// The editor is gone: nobody is told anything any more.
    pub fn leave(&self) {
        let open = std::mem::take(&mut *self.0.open.lock());
        open.values().for_each(|open| open.leave());
    }
}

fn free(open: &Open) -> Result<()> {
    if open.tickets().is_empty() { Ok(()) } else { Err(errors::busy(open.id())) }
}
