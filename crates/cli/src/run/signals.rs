//! Ctrl-C and its like: once interrupts the turn, twice ends the session. Being told to go ends it at once.

use std::io;

use switchboard_engine::Session;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Somebody wants us to stop.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    interrupted: bool,
}

/// What a signal asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Stop the turn.
    Interrupt,
    /// End the session.
    End,
}

impl Signals {
    /// From now on, signals are heard here and no longer end the program.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupted: false,
        })
    }

    /// Waits for a signal, and does what it asks for.
    pub async fn obey(&mut self, session: &Session) -> Asked {
        let asked = tokio::select! {
            _ = self.interrupt.recv() => if self.interrupted { Asked::End } else { Asked::Interrupt },
            _ = self.terminate.recv() => Asked::End,
            _ = self.hangup.recv() => Asked::End,
        };
        // A session that ended by itself in the meantime needs no order.
        match asked {
            Asked::Interrupt => drop(session.interrupt().await),
            Asked::End => drop(session.cancel().await),
        }
        self.interrupted = true;
        asked
    }
}
