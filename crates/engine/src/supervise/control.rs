//! A running agent, as its session holds it. Dropping [`AgentControl`] kills the agent and all its descendants.
//!
//! Its supervisor is watched to its end, so that no process of the session is left. A supervisor that was stopped or
//! killed is replaced: this process adopts its descendants and kills them.

use std::{
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::process::{PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Interest, unix::AsyncFd},
    net::unix::{OwnedReadHalf, OwnedWriteHalf, pipe},
    sync::{oneshot, watch},
    task,
    time::{sleep, timeout},
};

use super::{
    cgroup::SessionCgroup,
    process::ProcessRef,
    protocol::{LineMessage as _, SupervisorCommand, SupervisorReport},
    sandbox::SandboxReport,
    session_network::SessionNetwork,
    sweep::{StartedChild, has_orphans, sweep_session},
};

/// The time that the supervisor may take to execute a command before the engine acts without it.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(1);

/// The time that the supervisor may take to kill the remaining processes after the grace period of a stop.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct RunningAgent {
    /// The agent's process; for a confined agent the first process of its PID namespace.
    pub agent: ProcessRef,
    /// The sandbox in force around it; `None` if it is not confined.
    pub sandbox: Option<SandboxReport>,
    pub network: Option<SessionNetwork>,
    /// The standard input, unless it was closed from the beginning. Dropping it closes it.
    pub stdin: Option<pipe::Sender>,
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
    pub control: AgentControl,
}

/// The control over an agent and all its descendants. Dropping it kills everything.
#[derive(Debug)]
pub struct AgentControl {
    /// Closed when dropped, which is the command to kill everything.
    pub(super) channel: OwnedWriteHalf,
    pub(super) supervisor: ProcessRef,
    pub(super) state: watch::Receiver<AgentState>,
    /// The number of commands that were sent.
    pub(super) sent: AtomicU64,
    /// Dropped with this, which notifies the watcher of the supervisor.
    pub(super) _hold: oneshot::Sender<()>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AgentState {
    /// The agent's process, as soon as there is one.
    pub agent: Option<ProcessRef>,
    /// The number of commands that the supervisor has executed.
    pub acknowledged: u64,
    pub exit: Option<ProcessExit>,
    /// All processes have ended, except for this number that may not be killed.
    pub gone: Option<usize>,
}

/// How an agent ended. Neither field is set if its supervisor was killed: then it is only known to be dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessExit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// Signals that end a turn or an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C on a terminal.
    Interrupt,
    Terminate,
    Kill,
}

impl AgentControl {
    /// Sends a signal to the agent's process group. Does nothing if the agent has ended.
    pub fn signal(&self, signal: StopSignal) {
        let signal = match signal {
            StopSignal::Interrupt => Signal::INT,
            StopSignal::Terminate => Signal::TERM,
            StopSignal::Kill => Signal::KILL,
        };
        let unresponsive = self.send(SupervisorCommand::Signal(signal.as_raw()));
        task::spawn(async move {
            if let Some(agent) = unresponsive.await {
                agent.signal_group(signal);
            }
        });
    }

    /// Asks the agent's process group to end, and kills all remaining processes after `grace`.
    pub fn stop(&self, grace: Duration) {
        let grace_millis = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let unresponsive = self.send(SupervisorCommand::Stop { grace_millis });
        let (mut state, supervisor) = (self.state.clone(), self.supervisor);
        task::spawn(async move {
            let rest = match unresponsive.await {
                Some(agent) => {
                    agent.signal_group(Signal::TERM);
                    grace.saturating_sub(SUPERVISOR_TIMEOUT)
                }
                None => grace.saturating_add(KILL_TIMEOUT),
            };
            if timeout(rest, state.wait_for(|state| state.gone.is_some())).await.is_err() {
                // This process adopts its descendants, and kills them when it notices the end of the channel.
                supervisor.signal(Signal::KILL).ok();
            }
        });
    }

    /// Waits for the agent to end. May be called repeatedly, and dropped at any time; does not keep the agent alive.
    pub fn exit(&self) -> impl Future<Output = ProcessExit> + Send + use<> {
        let mut state = self.state.clone();
        async move {
            let known = state.wait_for(|state| state.exit.is_some()).await;
            known.ok().and_then(|state| state.exit).unwrap_or_default()
        }
    }

    /// Waits until no descendant is left; then the agent's outputs are at their end. Returns the number of processes
    /// left because they have another user's privileges and may not be killed. May be called repeatedly, and dropped at
    /// any time.
    pub async fn wait_until_gone(&self) -> usize {
        let mut state = self.state.clone();
        let known = state.wait_for(|state| state.gone.is_some()).await;
        known.ok().and_then(|state| state.gone).unwrap_or_default()
    }

    /// Sends a command. The future returns the agent if the supervisor does not execute the command in time: the agent
    /// may have stopped it.
    fn send(&self, command: SupervisorCommand) -> impl Future<Output = Option<ProcessRef>> + Send + use<> {
        // Lines are short. A line that does not fit into the channel is not acknowledged either.
        drop(self.channel.try_write(&command.to_line()));
        let number = self.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let mut state = self.state.clone();
        async move {
            let is_done =
                |state: &AgentState| state.acknowledged >= number || state.exit.is_some() || state.gone.is_some();
            let done = timeout(SUPERVISOR_TIMEOUT, state.wait_for(is_done)).await.map(drop);
            if done.is_err() { state.borrow().agent } else { None }
        }
    }
}

pub(super) struct WatchedSupervisor {
    pub session: String,
    pub child: StartedChild,
    pub process: ProcessRef,
    /// Removed at the end, with all processes that are still in it.
    pub cgroup: Option<Arc<SessionCgroup>>,
}

impl WatchedSupervisor {
    /// Follows the reports of the supervisor until it ends, and kills the processes that it has left.
    pub async fn watch(
        self,
        reports: OwnedReadHalf,
        state: watch::Sender<AgentState>,
        released: oneshot::Receiver<()>,
    ) {
        let mut lines = BufReader::new(reports).lines();
        let mut left = None;
        let overdue = wait_until_overdue(state.subscribe(), released);
        tokio::pin!(overdue);
        let mut is_killed = false;
        loop {
            tokio::select! {
                line = lines.next_line() => match line {
                    Ok(Some(line)) => match SupervisorReport::parse(line.as_bytes()) {
                        Some(SupervisorReport::Started(agent)) => state.send_modify(|state| state.agent = Some(agent)),
                        Some(SupervisorReport::Acknowledged) => state.send_modify(|state| state.acknowledged += 1),
                        Some(SupervisorReport::Exited(exit)) => state.send_modify(|state| state.exit = Some(exit)),
                        Some(SupervisorReport::Gone(count)) => left = Some(count),
                        None => {}
                    },
                    _ => break,
                },
                () = &mut overdue, if !is_killed => {
                    is_killed = true;
                    self.process.signal(Signal::KILL).ok();
                }
            }
        }
        // If the supervisor was killed, so is the agent, by its parent-death signal.
        state.send_modify(|state| state.exit = state.exit.or(Some(ProcessExit::default())));
        let agent = state.borrow().agent;
        let left = task::spawn_blocking(move || self.reap_and_sweep(agent, left)).await;
        state.send_modify(|state| state.gone = Some(left.unwrap_or_default()));
    }

    /// Kills the processes that the supervisor has left. Returns the number of processes that cannot be killed.
    fn reap_and_sweep(self, agent: Option<ProcessRef>, left: Option<usize>) -> usize {
        self.child.reap();
        drop(self.cgroup);
        match left {
            Some(left) if !has_orphans() => left,
            _ => sweep_session(&self.session, agent.as_slice()).map_or(0, |swept| swept.left.len()),
        }
    }
}

/// Completes when the supervisor has failed to react in time to the end of the agent, or to its session being dropped.
async fn wait_until_overdue(mut state: watch::Receiver<AgentState>, released: oneshot::Receiver<()>) {
    let agent = state.wait_for(|state| state.agent.is_some()).await.ok().and_then(|state| state.agent);
    tokio::select! {
        // Dropping also closes the channel.
        _ = released => sleep(SUPERVISOR_TIMEOUT).await,
        () = wait_for_end(agent) => {
            if timeout(SUPERVISOR_TIMEOUT, state.wait_for(|state| state.exit.is_some())).await.is_ok() {
                // The supervisor works, so it is not disturbed: killing the remaining processes may take longer.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Waits for a process to end, whatever its parent is.
#[expect(deprecated, reason = "the constructor is unsound only for types that do not own their descriptor")]
async fn wait_for_end(process: Option<ProcessRef>) {
    let handle = process.and_then(|process| process.open(PidfdFlags::NONBLOCK).ok());
    let handle = handle.and_then(|handle: OwnedFd| AsyncFd::with_interest(handle, Interest::READABLE).ok());
    match handle {
        Some(handle) => drop(handle.readable().await),
        None => std::future::pending().await,
    }
}
