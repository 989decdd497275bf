//! `__supervise`: parent of the agent and of every orphan below it, until none is left. It holds no pipe of the agent,
//! hears us on its standard input, and waits in `poll` otherwise.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Write as _},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Command as Program, ExitCode},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, fcntl_dupfd_cloexec},
    process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
        set_child_subreaper, wait, waitid,
    },
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin},
};

use super::{
    super::{
        control::Exit,
        handover,
        process::{Process, from_pid, start_time, to_pid},
        sandbox::namespaces,
        spec::SESSION_VARIABLE,
        wire::{Command, Report},
    },
    EXEC, INIT, family, init,
};

/// Signals that would end us. What they mean for a session is decided by the engine.
const SURVIVED: &[Signal] = &[Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// How often we look for children only, before we look for all descendants.
const ROUNDS: usize = 50;

/// How long we try to get rid of processes that we may not kill.
const PATIENCE: Duration = Duration::from_secs(2);

/// Supervises one agent to its end.
pub fn run(session: &OsStr, is_confined: bool) -> ExitCode {
    match Supervisor::start(session, is_confined) {
        Ok(mut supervisor) => {
            supervisor.watch();
            supervisor.bury();
            ExitCode::SUCCESS
        }
        // The closed channel says so.
        Err(_) => ExitCode::FAILURE,
    }
}

struct Supervisor {
    control: UnixStream,
    /// Readable when a signal has come.
    signals: UnixStream,
    heard: Vec<u8>,
    /// The agent, or the first process of its PID namespace.
    agent: Pid,
    /// Where the first process of a PID namespace reports the agent's end.
    init: Option<UnixStream>,
    /// The agent's end was reported.
    reported: bool,
    /// When to kill, after a polite request.
    deadline: Option<Instant>,
}

impl Supervisor {
    fn start(session: &OsStr, is_confined: bool) -> io::Result<Self> {
        let signals = signals()?;
        set_child_subreaper(Some(getpid()))?;
        let control = UnixStream::from(fcntl_dupfd_cloexec(stdin(), 3)?);
        let order = handover::receive(&control)?.ok_or(io::ErrorKind::InvalidData)?;
        let (agent, init) = start_agent(order, session, is_confined)?;
        // Otherwise the agent's output would have no end.
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&nothing)?;
        dup2_stdout(&nothing)?;
        dup2_stderr(&nothing)?;
        control.set_nonblocking(true)?;
        let mut own = Self { control, signals, heard: Vec::new(), agent, init, reported: false, deadline: None };
        let pid = from_pid(agent);
        own.report(Report::Started(Process { pid, start_time: start_time(pid).unwrap_or_default() }));
        Ok(own)
    }

    /// Until the agent has ended, or has to.
    fn watch(&mut self) {
        loop {
            let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let heard = self.wait(left);
            let over = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
            if (heard && !self.hear()) || over || self.agent_ended() || !self.reap() {
                return;
            }
        }
    }

    /// Waits for a signal or for the control channel, and says whether the channel has something.
    fn wait(&mut self, timeout: Option<Duration>) -> bool {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut sources = [&self.control, &self.signals].map(|socket| PollFd::new(socket, PollFlags::IN));
        // Interrupted by a signal: then there is something to do as well.
        poll(&mut sources, timeout.as_ref()).ok();
        let heard = sources.first().is_some_and(|control| !control.revents().is_empty());
        while matches!(self.signals.read(&mut [0; 64]), Ok(1..)) {}
        heard
    }

    /// Does what the engine says. False if it says nothing any more.
    fn hear(&mut self) -> bool {
        let mut bytes = [0; 256];
        loop {
            match self.control.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => self.heard.extend_from_slice(bytes.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            if let Some(command) = std::str::from_utf8(&line).ok().and_then(|line| Command::parse(line.trim_end())) {
                self.obey(command);
                self.report(Report::Acknowledged);
            }
        }
        true
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Signal(number) => drop(Signal::from_named_raw(number).map(|signal| self.signal(signal))),
            Command::Stop(grace) => {
                self.signal(Signal::TERM);
                let deadline = Instant::now().checked_add(Duration::from_millis(grace));
                self.deadline = deadline.into_iter().chain(self.deadline).min();
            }
        }
    }

    /// To the agent's group; to the agent alone as long as it has none. It was not reaped, so the pid is its own.
    fn signal(&self, signal: Signal) {
        if kill_process_group(self.agent, signal) == Err(Errno::SRCH) {
            kill_process(self.agent, signal).ok();
        }
    }

    /// Looks without reaping: as long as the agent is not reaped, no other process group can get its number.
    fn agent_ended(&mut self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Ok(Some(status)) = waitid(WaitId::Pid(self.agent), look) else { return false };
        let (code, signal) = (status.exit_status(), status.terminating_signal());
        self.report_exit(Exit { code, signal });
        true
    }

    /// Takes the ends of orphans. False if the agent's was among them, or if there is no child left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(None) => return true,
                Ok(Some((pid, status))) if pid == self.agent => {
                    self.report_exit(exit_of(status));
                    return false;
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Kills all descendants until there are none, but for those that we may not kill.
    fn bury(&mut self) {
        let mut helpless: Option<Instant> = None;
        let left = loop {
            if self.bury_children() {
                break 0;
            }
            let family = family::kill();
            let is_helpless = family.found > 0 && family.refused == family.found;
            helpless = if is_helpless { helpless.or_else(|| Some(Instant::now())) } else { None };
            if helpless.is_some_and(|since| since.elapsed() > PATIENCE) {
                break family.refused;
            }
        };
        self.report(Report::Gone(left));
    }

    /// Kills children, and those who become our children by that, for as long as some die. True if none is left.
    fn bury_children(&mut self) -> bool {
        for _ in 0..ROUNDS {
            family::kill_children();
            if self.childless() {
                return true;
            }
            if !self.wait_for_a_death() {
                break;
            }
        }
        false
    }

    /// No child is left, so no descendant is: orphans become our children.
    fn childless(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(None) => return false,
                Ok(Some((pid, status))) if pid == self.agent => self.report_exit(exit_of(status)),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                // There is no other error.
                Err(_) => return true,
            }
        }
    }

    /// Sleeps until a child dies. Not for long: a grandchild's death is not told. Says whether one did.
    fn wait_for_a_death(&mut self) -> bool {
        let timeout = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        poll(&mut [PollFd::new(&self.signals, PollFlags::IN)], Some(&timeout)).ok();
        let mut died = false;
        while matches!(self.signals.read(&mut [0; 64]), Ok(1..)) {
            died = true;
        }
        died
    }

    fn report_exit(&mut self, exit: Exit) {
        if !std::mem::replace(&mut self.reported, true) {
            let exit = self.init.take().map_or(exit, agent_exit);
            self.report(Report::Exited(exit));
        }
    }

    /// If nobody hears us, we were told to kill everything anyway.
    fn report(&mut self, report: Report) {
        drop(self.control.write_all(report.line().as_bytes()));
    }
}

/// Makes signals readable. What we handle is also reset to its default in the agent, however we were started.
fn signals() -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    for signal in [Signal::CHILD].iter().chain(SURVIVED) {
        signal_hook::low_level::pipe::register(signal.as_raw(), write.try_clone()?)?;
    }
    Ok(read)
}

/// Starts the agent below us; a confined one in a PID namespace, if that can be had.
fn start_agent(order: OwnedFd, session: &OsStr, is_confined: bool) -> io::Result<(Pid, Option<UnixStream>)> {
    let parent = from_pid(getpid()).to_string();
    let exec = [OsStr::new(EXEC), OsStr::new(&parent)];
    if !is_confined {
        return Ok((spawn(order, session, &exec)?, None));
    }
    match namespaces::enter_pid_namespace() {
        Ok(()) => {
            let (own, inits) = UnixStream::pair()?;
            handover::send(&own, Some(&order))?;
            Ok((spawn(inits.into(), session, &[OsStr::new(INIT)])?, Some(own)))
        }
        Err(error) => {
            let reason = error.to_string();
            Ok((spawn(order, session, &[exec.as_slice(), &[OsStr::new(&reason)]].concat())?, None))
        }
    }
}

/// Starts a hidden mode with our own outputs.
#[expect(clippy::disallowed_methods, reason = "this is where the agent's process is started")]
fn spawn(stdin: OwnedFd, session: &OsStr, args: &[&OsStr]) -> io::Result<Pid> {
    let mut command = Program::new("/proc/self/exe");
    command.arg0("switchboard").args(args);
    let child = command.env_clear().env(SESSION_VARIABLE, session).stdin(stdin).spawn()?;
    to_pid(child.id()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The agent's end as the first process of its namespace has reported it before it ended itself.
fn agent_exit(mut init: UnixStream) -> Exit {
    let mut line = String::new();
    drop(init.read_to_string(&mut line));
    match Report::parse(line.trim_end()) {
        Some(Report::Exited(exit)) => exit,
        _ => init::killed(),
    }
}

/// The end of a process.
pub fn exit_of(status: WaitStatus) -> Exit {
    Exit { code: status.exit_status(), signal: status.terminating_signal() }
}
