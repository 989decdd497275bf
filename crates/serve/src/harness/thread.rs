//! A thread that is open on a connection: what the client was told of it so far.

use parking_lot::Mutex;
use switchboard_dialects::harness::HarnessRequestId;
use tokio::{
    sync::{oneshot, watch},
    task::AbortHandle,
};

use crate::conversation::Conversation;

/// A thread that is open on a connection.
pub struct OpenThread {
    /// The session behind it.
    pub conversation: Conversation,
    told: Mutex<Told>,
    /// How many of its runs and turns have ended, as far as it was told.
    ends: watch::Sender<Ends>,
}

/// How much has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Runs.
    pub runs: u32,
    /// Turns.
    pub turns: u32,
}

/// What the client was told.
#[derive(Default)]
struct Told {
    /// The turn that is going on.
    turn: Option<String>,
    /// The request that wants to know of the next turn.
    starting: Option<Starting>,
    /// Who tells.
    pump: Option<AbortHandle>,
}

/// A `turn/start` whose turn has not begun.
pub struct Starting {
    /// What the answer is to carry.
    pub id: HarnessRequestId,
    /// Whom to tell that it was answered.
    pub answered: oneshot::Sender<()>,
}

impl OpenThread {
    /// A thread of which nothing was told yet.
    pub fn new(conversation: Conversation) -> Self {
        Self { conversation, told: Mutex::default(), ends: watch::Sender::default() }
    }

    /// The turn that is going on.
    pub fn turn(&self) -> Option<String> {
        self.told.lock().turn.clone()
    }

    /// A turn began; gives the request that waits for one, if somebody prompted this one.
    pub fn turn_began(&self, turn: String, prompted: bool) -> Option<Starting> {
        let mut told = self.told.lock();
        told.turn = Some(turn);
        if prompted { told.starting.take() } else { None }
    }

    /// The turn is over.
    pub fn turn_ended(&self) {
        self.told.lock().turn = None;
        self.ends.send_modify(|ends| ends.turns += 1);
    }

    /// A run is over.
    pub fn run_ended(&self) {
        self.ends.send_modify(|ends| ends.runs += 1);
    }

    /// How much has ended, and news of it.
    pub fn ends(&self) -> watch::Receiver<Ends> {
        self.ends.subscribe()
    }

    /// The next turn answers a request.
    pub fn expect_turn(&self, starting: Starting) {
        self.told.lock().starting = Some(starting);
    }

    /// The next turn answers nobody any more. False if it has done so already.
    pub fn expect_no_turn(&self) -> bool {
        self.told.lock().starting.take().is_some()
    }

    /// Somebody tells what happens.
    pub fn told_by(&self, pump: AbortHandle) {
        self.told.lock().pump = Some(pump);
    }

    /// Nothing more is told of it here: it was opened again.
    pub fn stop(&self) {
        if let Some(pump) = self.told.lock().pump.take() {
            pump.abort();
        }
    }
}
