//! Ctrl-C and other stop signals. The caller decides how to react.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// The signals that ask the program to stop.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    interrupted: bool,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Stop what is being done.
    Interrupt,
    /// End.
    End,
}

impl Signals {
    /// From now on, signals are heard here and no longer end the program.
    pub fn listen() -> Result<Self, Failure> {
        let hear = |kind| signal(kind).map_err(|cause| Failure::Machine(format!("cannot hear signals: {cause}")));
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
            hangup: hear(SignalKind::hangup())?,
            interrupted: false,
        })
    }

    /// Waits for a signal. The first Ctrl-C asks for less than the second.
    pub async fn next(&mut self) -> Asked {
        let asked = tokio::select! {
            _ = self.interrupt.recv() => if self.interrupted { Asked::End } else { Asked::Interrupt },
            _ = self.terminate.recv() => Asked::End,
            _ = self.hangup.recv() => Asked::End,
        };
        self.interrupted = true;
        asked
    }
}
