//! `__init`: the first process of a confined session's PID namespace. It arranges the mounts, starts the agent,
//! forwards signals to it and reaps orphans. When it ends, the kernel kills all that is left in the namespace.

use std::{
    io::{self, Read as _, Write as _},
    net::Shutdown,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Command, ExitCode},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{Errno, fcntl_dupfd_cloexec},
    process::{Pid, Signal, WaitOptions, getpid, set_parent_process_death_signal, setsid, wait},
    stdio::stdin,
};

use super::{EXEC_MODE, drain_signals, exec::INSIDE_PREFIX, redirect_stdio_to_null, signal_pipe};
use crate::supervise::{
    Confinement, ProcessExit, ProcessSpec, SandboxFeature, SandboxReport,
    process::{from_pid, signal_group_or_process, to_pid},
    protocol::{ExecReport, ExecStage, LineMessage as _, SupervisorReport, receive_file, send_file},
    sandbox::{
        mounts::arrange_mounts,
        namespaces::drop_own_capabilities,
        network::{create_listeners, create_tcp_socket, enter_network_namespace},
    },
};

const FORWARDED_SIGNALS: &[Signal] = &[Signal::INT, Signal::TERM];

/// Signals that would otherwise end this process.
const IGNORED_SIGNALS: &[Signal] = &[Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// Requests an IPv6 socket; any other byte requests an IPv4 socket.
pub const IPV6_SOCKET_REQUEST: u8 = b'6';

pub fn run_init() -> ExitCode {
    match InitProcess::start() {
        Ok(mut init) => {
            init.run_agent();
            ExitCode::SUCCESS
        }
        // The closed channel reports it.
        Err(_) => ExitCode::FAILURE,
    }
}

struct InitProcess {
    /// Closed when the supervisor ends.
    supervisor: UnixStream,
    /// Readable when a child has ended.
    children: UnixStream,
    /// Readable when the signal has arrived.
    forwarded: Vec<(Signal, UnixStream)>,
    /// The channel on which the engine requests sockets of the session's network.
    network: Option<UnixStream>,
    agent: Pid,
}

impl InitProcess {
    fn start() -> io::Result<Self> {
        let children = signal_pipe(&[Signal::CHILD])?;
        signal_pipe(IGNORED_SIGNALS)?;
        let forwarded = FORWARDED_SIGNALS.iter().map(|signal| Ok((*signal, signal_pipe(&[*signal])?)));
        let forwarded = forwarded.collect::<io::Result<_>>()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        setsid()?;
        let supervisor = UnixStream::from(fcntl_dupfd_cloexec(stdin(), 3)?);
        let order = receive_file(&supervisor)?.ok_or(io::ErrorKind::InvalidData)?;
        let (agent, network) = start_agent(UnixStream::from(order))?;
        redirect_stdio_to_null()?;
        drop_own_capabilities()?;
        Ok(Self { supervisor, children, forwarded, network, agent })
    }

    /// Waits for the agent to end, or for the supervisor.
    fn run_agent(&mut self) {
        while !self.reap_children() {
            let forwarded = self.forwarded.iter().map(|(_, socket)| socket);
            let sockets = [&self.supervisor, &self.children].into_iter().chain(forwarded).chain(&self.network);
            let mut sources: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
            // Without `poll`, nothing could be noticed any more.
            if poll(&mut sources, None).is_err_and(|error| error != Errno::INTR) {
                return;
            }
            let is_readable = |source: Option<&PollFd<'_>>| source.is_some_and(|source| !source.revents().is_empty());
            // The supervisor sends nothing, so the socket is readable only when it has ended.
            if is_readable(sources.first()) {
                return;
            }
            let is_socket_requested = self.network.is_some() && is_readable(sources.last());
            drop(sources);
            if is_socket_requested && self.network.as_mut().is_some_and(|network| send_socket(network).is_err()) {
                self.network = None;
            }
            self.forward_signals();
        }
    }

    fn forward_signals(&mut self) {
        drain_signals(&mut self.children);
        for (signal, socket) in &mut self.forwarded {
            if drain_signals(socket) {
                signal_group_or_process(self.agent, *signal);
            }
        }
    }

    /// Reaps children. Returns true if the agent was among them.
    fn reap_children(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.agent => {
                    let report = SupervisorReport::Exited(ProcessExit::of_status(status));
                    drop(self.supervisor.write_all(&report.to_line()));
                    return true;
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }
}

/// Creates a socket in the network of the session, with which the engine reaches servers of the agent.
fn send_socket(network: &mut UnixStream) -> io::Result<()> {
    let mut request = [0];
    network.read_exact(&mut request)?;
    send_file(network, create_tcp_socket(request == [IPV6_SOCKET_REQUEST]).ok().as_ref())
}

/// Arranges the sandbox around the agent, and starts `__exec`, which becomes the agent.
fn start_agent(mut engine: UnixStream) -> io::Result<(Pid, Option<UnixStream>)> {
    let input = receive_file(&engine)?;
    let network = receive_file(&engine)?.map(UnixStream::from);
    let mut bytes = Vec::new();
    engine.read_to_end(&mut bytes)?;
    let order: ProcessSpec = serde_json::from_slice(&bytes)?;
    let report = match arrange_sandbox(&order.confinement.unwrap_or_default(), network.as_ref()) {
        Ok(report) => report,
        Err(error) => {
            let (stage, message) = (ExecStage::Confinement, error.to_string());
            engine.write_all(&ExecReport::Failed { stage, errno: 0, message }.to_line())?;
            return Err(error);
        }
    };
    for message in ExecReport::of_sandbox(&report) {
        engine.write_all(&message.to_line())?;
    }
    let (mut own, exec) = UnixStream::pair()?;
    send_file(&own, input.as_ref())?;
    send_file(&own, None)?;
    drop(input);
    let agent = spawn_exec(exec.into(), &report)?;
    own.write_all(&bytes)?;
    own.shutdown(Shutdown::Write)?;
    io::copy(&mut own, &mut engine)?;
    Ok((agent, network))
}

/// Applies the layers around all processes of the session, and returns their report.
fn arrange_sandbox(confinement: &Confinement, network: Option<&UnixStream>) -> io::Result<SandboxReport> {
    let mut report = SandboxReport::default();
    report.enforced.push(SandboxFeature::PidNamespace);
    if let Some((channel, network)) = network.zip(confinement.network.as_ref()) {
        match enter_network_namespace() {
            Ok(()) => {
                let listeners = create_listeners(network)?;
                listeners.iter().try_for_each(|listener| send_file(channel, listener.as_ref()))?;
                report.enforced.push(SandboxFeature::NetworkNamespace);
            }
            Err(error) => report.add_missing(SandboxFeature::NetworkNamespace, error),
        }
    }
    arrange_mounts(confinement, &mut report)?;
    match report.shortfall() {
        Some(shortfall) if !confinement.best_effort => Err(io::Error::other(shortfall)),
        _ => Ok(report),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where a confined agent's process is started")]
fn spawn_exec(order: OwnedFd, report: &SandboxReport) -> io::Result<Pid> {
    let enforced: Vec<_> = report.enforced.iter().map(|feature| feature.name()).collect();
    let mut command = Command::new("/proc/self/exe");
    command.arg0("switchboard").args([EXEC_MODE, &from_pid(getpid()).to_string()]);
    let child = command.arg(format!("{INSIDE_PREFIX}{}", enforced.join(","))).env_clear().stdin(order).spawn()?;
    to_pid(child.id()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
