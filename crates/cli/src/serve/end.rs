//! The end of a server: nothing new is taken, streams are told, sessions are stopped, and all of it is over in ten
//! seconds, whatever an agent or a client does.

use std::{
    io::Write as _,
    process::ExitCode,
    time::{Duration, Instant},
};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::start::Running;
use crate::{failure::Failure, host};

/// From the signal to the end.
const ALL: Duration = Duration::from_secs(9);

/// For sessions; what is left is for connections.
const SESSIONS: Duration = Duration::from_secs(7);

/// For what cannot be interrupted.
pub const LAST_MOMENT: Duration = Duration::from_millis(500);

/// The signals that stop a server.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal is gone; not heard by a server that was started to outlive it.
    hangup: Option<Signal>,
}

impl Signals {
    /// From now on, signals are heard here and no longer end the program.
    pub fn listen() -> Result<Self, Failure> {
        let hear = |kind| signal(kind).map_err(|cause| Failure::Machine(format!("cannot hear signals: {cause}")));
        let hangup = if host::ignores_hangup() { None } else { Some(hear(SignalKind::hangup())?) };
        Ok(Self { interrupt: hear(SignalKind::interrupt())?, terminate: hear(SignalKind::terminate())?, hangup })
    }

    /// Waits for one.
    pub async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Shuts a server down gracefully, or at once after a second signal.
pub async fn end(running: Running, signals: &mut Signals) -> ExitCode {
    drop(writeln!(
        std::io::stderr(),
        "stopping: agents have {} seconds to end; once more stops at once",
        ALL.as_secs()
    ));
    tokio::select! {
        () = wind_down(running) => ExitCode::SUCCESS,
        () = signals.next() => ExitCode::from(130),
    }
}

async fn wind_down(running: Running) {
    let Running { mut server, private, data, drain } = running;
    let began = Instant::now();
    let left = || ALL.saturating_sub(began.elapsed());
    server.stop().await;
    drain.begin();
    data.engine.stop_all_sessions(SESSIONS).await;
    server.close(left()).await;
    if let Some(private) = private {
        private.close(left()).await;
    }
    // A client may have started another session at the last moment.
    data.engine.stop_all_sessions(left().max(LAST_MOMENT)).await;
}
