//! A session that the editor has open.

use std::{
    collections::{BTreeMap, HashMap},
    sync::atomic::{AtomicU64, Ordering},
};

use agent_client_protocol::RequestCancellationHandle;
use parking_lot::{Mutex, MutexGuard};
use switchboard_event::{Id, McpServerConfig};
use tokio::{sync::watch, task::AbortHandle};

use super::{editor::Line, tickets::Tickets};
use crate::conversation::{Changes, Conversation};

/// A session that the editor has open.
pub struct Open {
    pub conversation: Conversation,
    pub line: Line,
    /// Prompts are given to the agent one after the other.
    pub gate: tokio::sync::Mutex<()>,
    tickets: Mutex<Tickets>,
    /// What the editor is asked just now, so that it can be told that nobody asks any more.
    asked: Mutex<HashMap<Id, Vec<RequestCancellationHandle>>>,
    /// The last event that the editor was told of.
    told: watch::Sender<u64>,
    /// The servers that the editor gave with a session that had ended: its next run gets them.
    servers: Mutex<Option<BTreeMap<String, McpServerConfig>>>,
    pump: Mutex<Option<AbortHandle>>,
    /// How often the editor cancelled.
    cancels: AtomicU64,
}

impl Open {
    pub fn new(conversation: Conversation, line: Line) -> Self {
        Self {
            conversation,
            line,
            gate: tokio::sync::Mutex::default(),
            tickets: Mutex::default(),
            asked: Mutex::default(),
            told: watch::Sender::new(0),
            servers: Mutex::default(),
            pump: Mutex::default(),
            cancels: AtomicU64::default(),
        }
    }

    pub fn id(&self) -> &Id {
        self.conversation.id()
    }

    /// Its prompts that are not answered yet.
    pub fn tickets(&self) -> MutexGuard<'_, Tickets> {
        self.tickets.lock()
    }

    /// The editor was told of all events up to this one.
    pub fn has_told(&self, seq: u64) {
        self.told.send_replace(seq);
    }

    /// Waits until the editor was told of all events up to this one.
    pub async fn until_told(&self, seq: u64) {
        // The sender is ours, and as long as we are there.
        self.told.subscribe().wait_for(|told| *told >= seq).await.ok();
    }

    /// The editor is asked this.
    pub fn asks(&self, request: &Id, handle: RequestCancellationHandle) {
        self.asked.lock().entry(request.clone()).or_default().push(handle);
    }

    /// Nobody asks this any more. The editor is told so, if it has not answered.
    pub fn answered(&self, request: &str) {
        for handle in self.asked.lock().remove(request).into_iter().flatten() {
            // An editor that is gone need not be told.
            drop(handle.cancel());
        }
    }

    /// The editor cancelled what is going on.
    pub fn cancelled(&self) {
        self.cancels.fetch_add(1, Ordering::AcqRel);
    }

    /// How often the editor cancelled.
    pub fn cancels(&self) -> u64 {
        self.cancels.load(Ordering::Acquire)
    }

    /// The next run of the agent gets these servers.
    pub fn give_servers(&self, servers: BTreeMap<String, McpServerConfig>) {
        *self.servers.lock() = Some(servers).filter(|servers| !servers.is_empty());
    }

    /// What is to be different with the next prompt, once.
    pub fn changes(&self) -> Changes {
        Changes { mcp_servers: self.servers.lock().take(), ..Changes::default() }
    }

    /// Somebody tells the editor how it goes on.
    pub fn is_pumped(&self, pump: AbortHandle) {
        *self.pump.lock() = Some(pump);
    }

    /// The editor is told nothing any more.
    pub fn leave(&self) {
        if let Some(pump) = self.pump.lock().take() {
            pump.abort();
        }
    }
}
