//! A running agent, as its session holds it. Dropping [`Control`] kills the agent and all that descends from it.

use std::time::Duration;

use tokio::{
    net::unix::{OwnedWriteHalf, pipe},
    sync::watch,
};

use super::{order::Confined, process::Process, wire::Command};

/// An agent that runs, with all ways to it.
#[derive(Debug)]
pub struct Running {
    /// Its process.
    pub agent: Process,
    /// What came of the confinement.
    pub confined: Confined,
    /// What it reads, unless that was closed from the beginning. Dropping it closes it.
    pub stdin: Option<pipe::Sender>,
    /// What it says.
    pub stdout: pipe::Receiver,
    /// What it says beside.
    pub stderr: pipe::Receiver,
    /// Its end: how to bring it about and how to hear of it. Dropping it kills everything.
    pub control: Control,
}

/// The hold on an agent and all its descendants.
#[derive(Debug)]
pub struct Control {
    /// Closed when dropped, which the supervisor takes for the order to kill everything.
    pub(super) channel: OwnedWriteHalf,
    pub(super) state: watch::Receiver<State>,
}

/// What is known of the agent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// Its process, as soon as there is one.
    pub agent: Option<Process>,
    /// How it ended.
    pub exit: Option<Exit>,
    /// Nothing of it is left, but for so many processes that we may not kill.
    pub gone: Option<usize>,
}

/// How an agent ended. Neither is set if its supervisor was killed: then nobody knows but that it is dead.
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
    /// Please end.
    Terminate,
    /// Be gone.
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
        self.tell(Command::Signal(number.as_raw()));
    }

    /// Asks the agent's process group to end, and kills everything that is left after `grace`.
    pub fn stop(&self, grace: Duration) {
        self.tell(Command::Stop(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX)));
    }

    /// How the agent ended, as soon as it has. May be asked often, and dropped at any time; holds nothing itself.
    pub fn exit(&self) -> impl Future<Output = Exit> + Send + use<> {
        let mut state = self.state.clone();
        async move {
            let known = state.wait_for(|state| state.exit.is_some()).await;
            known.ok().and_then(|state| state.exit).unwrap_or_default()
        }
    }

    /// Waits until no descendant is left; then the agent's outputs have an end. Says how many processes are left because
    /// we may not kill them: those that got the rights of another user. May be asked often, and dropped at any time.
    ///
    /// It takes milliseconds from the agent's end. If it takes seconds, somebody has stopped the supervisor, or a
    /// process hangs in the kernel: [`sweep`](super::sweep) kills the supervisor too.
    pub async fn gone(&self) -> usize {
        let mut state = self.state.clone();
        let known = state.wait_for(|state| state.gone.is_some()).await;
        known.ok().and_then(|state| state.gone).unwrap_or_default()
    }

    /// Lines are short and the supervisor always reads. If it does not hear us it is dead, and the agent with it.
    fn tell(&self, command: Command) {
        drop(self.channel.try_write(command.line().as_bytes()));
    }
}
