//! `__supervise`: the parent of the agent and of every orphan below it, until none is left. It holds no pipe of the
//! agent, reads commands of the engine from its standard input, and otherwise waits in `poll`.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Read as _, Write as _},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, fcntl_dupfd_cloexec},
    process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpgrp, getpid, kill_process, kill_process_group,
        set_child_subreaper, wait, waitid,
    },
    stdio::stdin,
};

use super::{EXEC_MODE, INIT_MODE, drain_signals, redirect_stdio_to_null, signal_pipe};
use crate::supervise::{
    ProcessExit, ProcessRef, SESSION_VARIABLE,
    process::{
        ProcessStat, child_pids, descendants, from_pid, process_start_time, processes, signal_group_or_process, to_pid,
    },
    protocol::{LineMessage as _, SupervisorCommand, SupervisorReport, receive_file, send_file},
    sandbox::namespaces::enter_pid_namespace,
};

/// Signals that would end the supervisor. The engine decides what they mean for a session.
const IGNORED_SIGNALS: &[Signal] = &[Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// The number of rounds in which only children are killed, before all descendants are searched.
const MAX_CHILD_ROUNDS: usize = 50;

/// The time spent on processes that the supervisor is not permitted to kill.
const REFUSED_KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// The time to wait for the death of a child. The death of a grandchild sends no signal.
const CHILD_DEATH_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

pub fn run_supervisor(session: &OsStr, is_confined: bool) -> ExitCode {
    close_inherited_files();
    match Supervisor::start(session, is_confined) {
        Ok(mut supervisor) => {
            supervisor.watch();
            supervisor.kill_all_descendants();
            ExitCode::SUCCESS
        }
        // The closed channel reports it.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Closes inherited files: an agent could read, write and connect with them.
fn close_inherited_files() {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // The directory itself is among them, and closed by now.
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        nix::unistd::close(descriptor).ok();
    }
}

struct Supervisor {
    control: UnixStream,
    /// Readable when a signal has arrived.
    signals: UnixStream,
    /// Bytes of commands that are not complete.
    received: Vec<u8>,
    /// The agent, or the first process of its PID namespace.
    agent: Pid,
    /// The channel on which the first process of a PID namespace reports the agent's end.
    init: Option<UnixStream>,
    is_exit_reported: bool,
    /// When to kill everything after a request to end.
    deadline: Option<Instant>,
}

impl Supervisor {
    fn start(session: &OsStr, is_confined: bool) -> io::Result<Self> {
        let handled: Vec<_> = [Signal::CHILD].iter().chain(IGNORED_SIGNALS).copied().collect();
        // Handled signals are also reset to their default in the agent, however the supervisor was started.
        let signals = signal_pipe(&handled)?;
        set_child_subreaper(Some(getpid()))?;
        let control = UnixStream::from(fcntl_dupfd_cloexec(stdin(), 3)?);
        let order = receive_file(&control)?.ok_or(io::ErrorKind::InvalidData)?;
        let (agent, init) = start_agent(order, session, is_confined)?;
        redirect_stdio_to_null()?;
        control.set_nonblocking(true)?;
        let (received, is_exit_reported, deadline) = (Vec::new(), false, None);
        let mut own = Self { control, signals, received, agent, init, is_exit_reported, deadline };
        let pid = from_pid(agent);
        let start_time = process_start_time(pid).unwrap_or_default();
        own.report(SupervisorReport::Started(ProcessRef { pid, start_time }));
        Ok(own)
    }

    /// Waits until the agent has ended, or has to be killed.
    fn watch(&mut self) {
        loop {
            let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let is_readable = self.wait(left);
            let is_overdue = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
            let is_closed = is_readable && !self.execute_commands();
            if is_closed || is_overdue || self.agent_ended() || !self.reap_orphans() {
                return;
            }
        }
    }

    /// Waits for a signal or for the control channel. Returns whether the channel is readable.
    fn wait(&mut self, timeout: Option<Duration>) -> bool {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut sources = [&self.control, &self.signals].map(|socket| PollFd::new(socket, PollFlags::IN));
        // Interrupted by a signal: then there is something to do as well.
        poll(&mut sources, timeout.as_ref()).ok();
        let is_readable = sources.first().is_some_and(|control| !control.revents().is_empty());
        drain_signals(&mut self.signals);
        is_readable
    }

    /// Executes the commands of the engine. Returns false if the channel is closed.
    fn execute_commands(&mut self) -> bool {
        let mut bytes = [0; 256];
        loop {
            match self.control.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => self.received.extend_from_slice(bytes.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        while let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            if let Some(command) = SupervisorCommand::parse(&line) {
                self.execute(command);
                self.report(SupervisorReport::Acknowledged);
            }
        }
        true
    }

    fn execute(&mut self, command: SupervisorCommand) {
        // The agent was not reaped, so the PID is its own.
        match command {
            SupervisorCommand::Signal(number) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    signal_group_or_process(self.agent, signal);
                }
            }
            SupervisorCommand::Stop { grace_millis } => {
                signal_group_or_process(self.agent, Signal::TERM);
                let deadline = Instant::now().checked_add(Duration::from_millis(grace_millis));
                self.deadline = deadline.into_iter().chain(self.deadline).min();
            }
        }
    }

    /// Checks without reaping: as long as the agent is not reaped, no other process group can get its number.
    fn agent_ended(&mut self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Ok(Some(status)) = waitid(WaitId::Pid(self.agent), options) else { return false };
        let (code, signal) = (status.exit_status(), status.terminating_signal());
        self.report_exit(ProcessExit { code, signal });
        true
    }

    /// Reaps orphans. Returns false if the agent was among them, or if no child is left.
    fn reap_orphans(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(None) => return true,
                Ok(Some((pid, status))) if pid == self.agent => {
                    self.report_exit(ProcessExit::of_status(status));
                    return false;
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Kills all descendants until none is left except for those that the supervisor is not permitted to kill.
    fn kill_all_descendants(&mut self) {
        let mut refused_since: Option<Instant> = None;
        let left = loop {
            if self.kill_children() {
                break 0;
            }
            let round = KillRound::run();
            let is_refused = round.found > 0 && round.refused == round.found;
            refused_since = if is_refused { refused_since.or_else(|| Some(Instant::now())) } else { None };
            if refused_since.is_some_and(|since| since.elapsed() > REFUSED_KILL_TIMEOUT) {
                break round.refused;
            }
        };
        self.report(SupervisorReport::Gone(left));
    }

    /// Kills children, and the processes that become children by that, for as long as some die. Returns true if none is
    /// left.
    fn kill_children(&mut self) -> bool {
        for _ in 0..MAX_CHILD_ROUNDS {
            // Fast enough for processes that keep forking: the time from reading the list to the signal is shorter than
            // a process needs to start another.
            for pid in child_pids(from_pid(getpid())).into_iter().filter_map(to_pid) {
                // None of them was reaped, so the PID is still the child's, and so is a group of that number.
                kill_process_group(pid, Signal::KILL).ok();
                kill_process(pid, Signal::KILL).ok();
            }
            if self.reap_all() {
                return true;
            }
            poll(&mut [PollFd::new(&self.signals, PollFlags::IN)], Some(&CHILD_DEATH_TIMEOUT)).ok();
            if !drain_signals(&mut self.signals) {
                break;
            }
        }
        false
    }

    /// Reaps dead children. Returns whether no child is left, and therefore no descendant: orphans become children of
    /// the supervisor.
    fn reap_all(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(None) => return false,
                Ok(Some((pid, status))) if pid == self.agent => self.report_exit(ProcessExit::of_status(status)),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                // There is no other error.
                Err(_) => return true,
            }
        }
    }

    fn report_exit(&mut self, exit: ProcessExit) {
        if !std::mem::replace(&mut self.is_exit_reported, true) {
            let exit = self.init.take().map_or(exit, read_agent_exit);
            self.report(SupervisorReport::Exited(exit));
        }
    }

    /// Sends a report. A closed channel is no error: it is the command to kill everything.
    fn report(&mut self, report: SupervisorReport) {
        drop(self.control.write_all(&report.to_line()));
    }
}

/// Starts the agent as a child; a confined one in a PID namespace, if possible.
fn start_agent(order: OwnedFd, session: &OsStr, is_confined: bool) -> io::Result<(Pid, Option<UnixStream>)> {
    let parent = from_pid(getpid()).to_string();
    let exec = [OsStr::new(EXEC_MODE), OsStr::new(&parent)];
    if !is_confined {
        return Ok((spawn_mode(order, session, &exec)?, None));
    }
    match enter_pid_namespace() {
        Ok(()) => {
            let (own, init) = UnixStream::pair()?;
            send_file(&own, Some(&order))?;
            Ok((spawn_mode(init.into(), session, &[OsStr::new(INIT_MODE)])?, Some(own)))
        }
        Err(error) => {
            let reason = error.to_string();
            Ok((spawn_mode(order, session, &[exec.as_slice(), &[OsStr::new(&reason)]].concat())?, None))
        }
    }
}

/// Starts a hidden mode with the supervisor's own outputs.
#[expect(clippy::disallowed_methods, reason = "this is where the agent's process is started")]
fn spawn_mode(stdin: OwnedFd, session: &OsStr, args: &[&OsStr]) -> io::Result<Pid> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("switchboard").args(args);
    let child = command.env_clear().env(SESSION_VARIABLE, session).stdin(stdin).spawn()?;
    to_pid(child.id()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Reads the agent's exit as the first process of its namespace has reported it.
fn read_agent_exit(mut init: UnixStream) -> ProcessExit {
    let mut line = Vec::new();
    drop(init.read_to_end(&mut line));
    match SupervisorReport::parse(&line) {
        Some(SupervisorReport::Exited(exit)) => exit,
        // Only the kill by the kernel is known.
        _ => ProcessExit { code: None, signal: Some(Signal::KILL.as_raw()) },
    }
}

impl ProcessExit {
    pub fn of_status(status: WaitStatus) -> Self {
        Self { code: status.exit_status(), signal: status.terminating_signal() }
    }
}

/// One round of killing every descendant. Slower than killing children, but also finds those whose parents hang in the
/// kernel.
#[derive(Default)]
struct KillRound {
    /// Descendants that were alive.
    found: usize,
    /// The descendants among them that this process is not permitted to kill.
    refused: usize,
}

impl KillRound {
    fn run() -> Self {
        let own = from_pid(getpid());
        let all: Vec<_> = processes().into_iter().flatten().collect();
        let descendants = descendants(&all, [own]);
        descendants.iter().filter(|stat| stat.parent == own).for_each(kill_group);
        let mut round = Self::default();
        for stat in descendants.iter().filter(|stat| !stat.is_dead) {
            round.found += 1;
            let killed = stat.process.signal(Signal::KILL);
            let is_refused = killed.is_err_and(|error| error.raw_os_error() == Some(Errno::PERM.raw_os_error()));
            round.refused += usize::from(is_refused);
        }
        round
    }
}

/// Kills a child's whole group at once, so that no process in it can escape by forking. The child was not reaped, so
/// the group's number was not reused. A child that has not yet left this process's group is alone in it with this
/// process.
fn kill_group(child: &ProcessStat) {
    if let Some(group) = to_pid(child.group).filter(|group| *group != getpgrp()) {
        kill_process_group(group, Signal::KILL).ok();
    }
}
