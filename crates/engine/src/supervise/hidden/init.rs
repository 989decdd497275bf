//! `__init`: the first process of a confined session's PID namespace. It arranges the mounts, starts the agent, forwards
//! signals to it and reaps orphans. When it ends, the kernel kills all that is left in the namespace.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Command, ExitCode},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{Errno, fcntl_dupfd_cloexec},
    process::{
        Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_parent_process_death_signal, setsid,
        wait,
    },
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin},
};

use super::{
    super::{
        control::Exit,
        handover,
        order::{self, Answer, Stage},
        process::{from_pid, to_pid},
        sandbox::{SandboxFeature, SandboxReport, capabilities, mounts},
        spec::Confinement,
        wire::Report,
    },
    EXEC, exec,
    supervisor::exit_of,
};

/// Signals that are passed on to the agent.
const FORWARDED: &[Signal] = &[Signal::INT, Signal::TERM];

/// Signals that would otherwise end this process.
const IGNORED: &[Signal] = &[Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// Runs one agent to its end.
pub fn run() -> ExitCode {
    match Init::start() {
        Ok(mut init) => {
            init.run_agent();
            ExitCode::SUCCESS
        }
        // The closed channel says so.
        Err(_) => ExitCode::FAILURE,
    }
}

struct Init {
    /// Closed when the supervisor ends.
    supervisor: UnixStream,
    /// Readable when a child has ended.
    children: UnixStream,
    /// Readable when the signal has come.
    forwarded: Vec<(Signal, UnixStream)>,
    agent: Pid,
}

impl Init {
    fn start() -> io::Result<Self> {
        let children = readable_signal(&[Signal::CHILD])?;
        readable_signal(IGNORED)?;
        let forwarded = FORWARDED.iter().map(|signal| Ok((*signal, readable_signal(&[*signal])?)));
        let forwarded = forwarded.collect::<io::Result<_>>()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        setsid()?;
        let supervisor = UnixStream::from(fcntl_dupfd_cloexec(stdin(), 3)?);
        let order = handover::receive(&supervisor)?.ok_or(io::ErrorKind::InvalidData)?;
        let agent = start_agent(UnixStream::from(order))?;
        // Otherwise the agent's output would have no end.
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&nothing)?;
        dup2_stdout(&nothing)?;
        dup2_stderr(&nothing)?;
        capabilities::give_up()?;
        Ok(Self { supervisor, children, forwarded, agent })
    }

    /// Waits for the agent to end, or for the supervisor.
    fn run_agent(&mut self) {
        while !self.reap() {
            let sockets = [&self.supervisor, &self.children].into_iter().chain(self.forwarded.iter().map(|(_, s)| s));
            let mut sources: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
            poll(&mut sources, None).ok();
            // The supervisor says nothing, so there is something to read only when it has ended.
            if sources.first().is_some_and(|supervisor| !supervisor.revents().is_empty()) {
                return;
            }
            self.forward();
        }
    }

    fn forward(&mut self) {
        while matches!(self.children.read(&mut [0; 64]), Ok(1..)) {}
        for (signal, socket) in &mut self.forwarded {
            if matches!(socket.read(&mut [0; 64]), Ok(1..))
                && kill_process_group(self.agent, *signal) == Err(Errno::SRCH)
            {
                kill_process(self.agent, *signal).ok();
            }
        }
    }

    /// Takes the ends of children. True if the agent's was among them.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.agent => {
                    drop(self.supervisor.write_all(Report::Exited(exit_of(status)).line().as_bytes()));
                    return true;
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }
}

fn readable_signal(signals: &[Signal]) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(signal.as_raw(), write.try_clone()?)?;
    }
    Ok(read)
}

/// Arranges what is around the agent, and has `__exec` become it.
fn start_agent(mut engine: UnixStream) -> io::Result<Pid> {
    let input = handover::receive(&engine)?;
    let mut bytes = Vec::new();
    engine.read_to_end(&mut bytes)?;
    let order = order::decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    let confinement = order.confine.unwrap_or_default();
    let report = match arrange(&confinement) {
        Ok(report) => report,
        Err(error) => {
            engine.write_all(Answer::Failed(Stage::Confine, 0, error.to_string()).line().as_bytes())?;
            return Err(error);
        }
    };
    for answer in Answer::of_report(&report) {
        engine.write_all(answer.line().as_bytes())?;
    }
    let (mut own, execs) = UnixStream::pair()?;
    handover::send(&own, input.as_ref())?;
    drop(input);
    let agent = spawn(execs.into(), &report)?;
    own.write_all(&bytes)?;
    own.shutdown(std::net::Shutdown::Write)?;
    io::copy(&mut own, &mut engine)?;
    Ok(agent)
}

/// The report of the layers that are around all processes of the session.
fn arrange(confinement: &Confinement) -> io::Result<SandboxReport> {
    let mut report = SandboxReport::default();
    report.enforce(SandboxFeature::PidNamespace);
    mounts::arrange(confinement, &mut report)?;
    match report.shortfall() {
        Some(shortfall) if !confinement.best_effort => Err(io::Error::other(shortfall)),
        _ => Ok(report),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where a confined agent's process is started")]
fn spawn(order: OwnedFd, report: &SandboxReport) -> io::Result<Pid> {
    let enforced: Vec<_> = report.enforced.iter().map(|feature| feature.name()).collect();
    let mut command = Command::new("/proc/self/exe");
    command.arg0("switchboard").args([EXEC, &from_pid(getpid()).to_string()]);
    let child = command.arg(format!("{}{}", exec::INSIDE, enforced.join(","))).env_clear().stdin(order).spawn()?;
    to_pid(child.id()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// How a process ended that is known by nothing but that the kernel killed it.
pub fn killed() -> Exit {
    Exit { code: None, signal: Some(Signal::KILL.as_raw()) }
}
