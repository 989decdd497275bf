//! A running agent, as its session holds it. Dropping [`Control`] kills the agent and all that descends from it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::{
    net::unix::{OwnedWriteHalf, pipe},
    sync::{oneshot, watch},
    task, time,
};

use super::{
    process::{self, Process},
    sandbox::SandboxReport,
    wire::Command,
};

/// How long the supervisor may take to carry out a command before we act without it.
pub(super) const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the supervisor may take to kill what is left after the grace of a stop.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// An agent that runs, with all ways to it.
#[derive(Debug)]
pub struct Running {
    /// Its process; for a confined agent the first process of its PID namespace.
    pub agent: Process,
    /// The sandbox in force around it; `None` if it was not to be confined.
    pub sandbox: Option<SandboxReport>,
    /// Its standard input, unless that was closed from the beginning. Dropping it closes it.
    pub stdin: Option<pipe::Sender>,
    /// Its standard output.
    pub stdout: pipe::Receiver,
    /// Its standard error.
    pub stderr: pipe::Receiver,
    /// Its end: how to bring it about and how to wait for it. Dropping it kills everything.
    pub control: Control,
}

/// The hold on an agent and all its descendants.
#[derive(Debug)]
pub struct Control {
    /// Closed when dropped, which the supervisor takes for the command to kill everything.
    pub(super) channel: OwnedWriteHalf,
    pub(super) supervisor: Process,
    pub(super) state: watch::Receiver<State>,
    /// Commands that were sent.
    pub(super) sent: AtomicU64,
    /// Its end tells the watcher of the supervisor that this is dropped.
    pub(super) _hold: oneshot::Sender<()>,
}

/// What is known of the agent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// Its process, as soon as there is one.
    pub agent: Option<Process>,
    /// Commands that the supervisor has carried out.
    pub acknowledged: u64,
    /// How it ended.
    pub exit: Option<Exit>,
    /// Nothing of it is left, except for this many processes that we may not kill.
    pub gone: Option<usize>,
}

/// How an agent ended. Neither is set if its supervisor was killed: then it is only known to be dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exit {
    /// The exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Signals that end a turn or an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// As Ctrl-C on a terminal.
    Interrupt,
    /// A request to end.
    Terminate,
    /// An end without a request.
    Kill,
}

impl Control {
    /// Sends a signal to the agent's process group. Does nothing if the agent has ended.
    pub fn signal(&self, signal: Signal) {
        let number = match signal {
            Signal::Interrupt => rustix::process::Signal::INT,
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        };
        let command = Command::Signal(number.as_raw());
        let heard = self.send(command);
        task::spawn(async move {
            if let Some(agent) = heard.await {
                process::signal_group(agent, number);
            }
        });
    }

    /// Asks the agent's process group to end, and kills everything that is left after `grace`.
    pub fn stop(&self, grace: Duration) {
        let heard = self.send(Command::Stop(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX)));
        let (mut state, supervisor) = (self.state.clone(), self.supervisor);
        task::spawn(async move {
            let rest = match heard.await {
                Some(agent) => {
                    process::signal_group(agent, rustix::process::Signal::TERM);
                    grace.saturating_sub(SUPERVISOR_TIMEOUT)
                }
                None => grace.saturating_add(KILL_TIMEOUT),
            };
            if time::timeout(rest, state.wait_for(|state| state.gone.is_some())).await.is_err() {
                // Its descendants come to us, and are killed when the end of its channel is noticed.
                supervisor.kill(rustix::process::Signal::KILL).ok();
            }
        });
    }

    /// How the agent ended, as soon as it has. May be asked often, and dropped at any time; holds nothing itself.
    pub fn exit(&self) -> impl Future<Output = Exit> + Send + use<> {
        let mut state = self.state.clone();
        async move {
            let known = state.wait_for(|state| state.exit.is_some()).await;
            known.ok().and_then(|state| state.exit).unwrap_or_default()
        }
    }

    /// Waits until no descendant is left; then the agent's outputs have an end. Returns how many processes are left
    /// because we may not kill them: those that got the rights of another user. May be asked often, and dropped at any
    /// time.
    pub async fn gone(&self) -> usize {
        let mut state = self.state.clone();
        let known = state.wait_for(|state| state.gone.is_some()).await;
        known.ok().and_then(|state| state.gone).unwrap_or_default()
    }

    /// Sends a command. The future gives the agent if the supervisor does not carry the command out in time: it may have
    /// been stopped by the agent.
    fn send(&self, command: Command) -> impl Future<Output = Option<Process>> + Send + use<> {
        // Lines are short. One that does not fit into the channel is not acknowledged either.
        drop(self.channel.try_write(command.line().as_bytes()));
        let number = self.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let mut state = self.state.clone();
        async move {
            let is_done = |state: &State| state.acknowledged >= number || state.exit.is_some() || state.gone.is_some();
            let done = time::timeout(SUPERVISOR_TIMEOUT, state.wait_for(is_done)).await.map(drop);
            if done.is_err() { state.borrow().agent } else { None }
        }
    }
}
