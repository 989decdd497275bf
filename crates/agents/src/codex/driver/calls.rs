//! Client requests and the purpose of each, so that replies can be handled.

use serde::Serialize;

use crate::{AgentPrompt, DriverEffects};

/// Maximum number of remembered requests. Some are never answered: an interrupt of a turn that is already interrupted
/// (0.166).
const MAX_PENDING_REQUESTS: usize = 64;

/// Purpose of a request. Requests whose reply is not needed are not remembered.
pub enum RequestPurpose {
    Initialize,
    LogIn,
    Open,
    /// Starts a turn with a prompt.
    Begin(AgentPrompt),
    /// Adds a prompt to the running turn.
    Steer(AgentPrompt),
    /// A slash command.
    Command {
        /// The command starts a turn.
        turn: bool,
    },
    /// Opens a thread that replaces the current one.
    Afresh,
    /// Lists the models.
    Models {
        /// The request asks for a page after the first.
        further: bool,
    },
    /// Lists the collaboration modes.
    Modes,
    /// Lists what a stopped turn left running, with the items that started it.
    Leftovers(Vec<String>),
    /// Queries the status of a turn.
    Inquire,
}

/// Client requests that await a reply.
#[derive(Default)]
pub struct CodexClientRequests {
    last: u64,
    waiting: Vec<(u64, RequestPurpose)>,
}

#[derive(Serialize)]
struct CodexRpcRequest<'a, P: Serialize> {
    id: u64,
    method: &'a str,
    params: &'a P,
}

impl CodexClientRequests {
    pub fn next_id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: &impl Serialize, effects: &mut DriverEffects) -> u64 {
        let id = self.next_id();
        effects.send_record(&CodexRpcRequest { id, method, params });
        id
    }

    /// Remembers the purpose of a request.
    pub fn expect_reply(&mut self, id: u64, purpose: RequestPurpose) {
        if self.waiting.len() >= MAX_PENDING_REQUESTS {
            self.waiting.remove(0);
        }
        self.waiting.push((id, purpose));
    }

    /// Removes and returns the purpose of the request with this id.
    pub fn take(&mut self, id: u64) -> Option<RequestPurpose> {
        let index = self.waiting.iter().position(|(known, _)| *known == id)?;
        Some(self.waiting.remove(index).1)
    }
}
