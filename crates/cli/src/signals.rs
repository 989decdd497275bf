//! Ctrl-C and other stop signals. The caller decides how to react.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{failure::Failure, host};

pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if the program was started to ignore it, or uses it for something else.
    hangup: Option<Signal>,
    was_interrupted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// Interrupt the current turn.
    Interrupt,
    /// End the session or the program.
    End,
}

/// Receives hangups from now on; they no longer end the program.
pub fn listen_to_hangup() -> Result<Signal, Failure> {
    signal(SignalKind::hangup()).map_err(|cause| Failure::Machine(format!("cannot handle signals: {cause}")))
}

impl StopSignals {
    /// Receives signals from now on; they no longer end the program.
    pub fn listen() -> Result<Self, Failure> {
        Self::listen_to(true)
    }

    /// Like [`Self::listen`], but keeps ignoring hangups if the program was started with `nohup`.
    pub fn listen_unless_ignored() -> Result<Self, Failure> {
        Self::listen_to(!host::ignores_hangup())
    }

    /// Like [`Self::listen`], without hangups.
    pub fn listen_except_hangup() -> Result<Self, Failure> {
        Self::listen_to(false)
    }

    fn listen_to(listens_to_hangup: bool) -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|cause| Failure::Machine(format!("cannot handle signals: {cause}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listens_to_hangup.then(|| listen(SignalKind::hangup())).transpose()?,
            was_interrupted: false,
        })
    }

    /// Waits for a signal. Only the first Ctrl-C is an interrupt.
    pub async fn next(&mut self) -> StopSignal {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        let stop = tokio::select! {
            _ = self.interrupt.recv() => if self.was_interrupted { StopSignal::End } else { StopSignal::Interrupt },
            _ = self.terminate.recv() => StopSignal::End,
            _ = hangup => StopSignal::End,
        };
        self.was_interrupted = true;
        stop
    }
}
