//! Starts an agent below a supervisor. No other module of the engine starts processes.

use std::{
    ffi::OsStr,
    io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, net::UnixStream as StdUnixStream, process::CommandExt as _},
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, atomic::AtomicU64},
};

use rustix::{io::Errno, pipe::fcntl_setpipe_size};
use thiserror::Error;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixStream, unix::pipe},
    sync::{oneshot, watch},
    task,
};
use tracing::debug;

use super::{
    AgentControl, ProcessRef, ProcessSpec, RunningAgent, SESSION_VARIABLE, SandboxFeature, SandboxReport,
    SessionNetwork,
    cgroup::SessionCgroup,
    control::{AgentState, WatchedSupervisor},
    hidden::SUPERVISE_MODE,
    process::process_start_time,
    protocol::{ExecReport, ExecStage, LineMessage as _, send_file},
    sandbox::sandbox_refusal_hint,
    sweep::StartedChild,
};

/// The size of the pipe for an agent's standard output.
const STDOUT_PIPE_BYTES: usize = 256 << 10;

/// The reason why an agent was not started. No process of it is left.
#[derive(Debug, Error)]
pub enum LaunchError {
    #[error("no program `{program}`")]
    NotFound { program: String },
    #[error("cannot run `{program}`: {cause}")]
    NotExecutable { program: String, cause: String },
    /// The arguments or the environment are longer than the system takes.
    #[error("the arguments for `{program}` are too long")]
    TooLong { program: String },
    #[error("cannot use working directory {}: {cause}", .path.display())]
    Directory { path: PathBuf, cause: String },
    #[error("cannot confine `{program}`: {cause}")]
    Confinement { program: String, cause: String },
    /// The specification is incomplete, or has a value that cannot be passed to a process.
    #[error("cannot start an agent: {0}")]
    Invalid(&'static str),
    #[error("cannot start the supervisor: {0}")]
    Supervisor(#[from] io::Error),
}

impl LaunchError {
    /// Returns a hint for a person on how to fix it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { .. } => "install it, or check PATH".to_owned(),
            Self::NotExecutable { .. } => "check that it is a program and executable (chmod +x)".to_owned(),
            Self::TooLong { .. } => "an argument can have 128 KiB; pass a long prompt on standard input".to_owned(),
            Self::Directory { .. } => "use a directory that exists and that you may enter".to_owned(),
            Self::Confinement { cause, .. } => sandbox_refusal_hint(cause),
            Self::Invalid(_) => return None,
            Self::Supervisor(_) => "check the limits on processes and open files".to_owned(),
        })
    }
}

/// Starts an agent. `exe` is this program, whose hidden modes do the work: `/proc/self/exe` is right even after an
/// update has replaced the file.
///
/// Dropping the future kills the processes started so far.
pub async fn start_agent(exe: &Path, spec: ProcessSpec) -> Result<RunningAgent, LaunchError> {
    check_spec(&spec)?;
    let order = serde_json::to_vec(&spec).map_err(io::Error::from)?;
    let (control, supervisor_control) = StdUnixStream::pair()?;
    let (orders, exec_orders) = StdUnixStream::pair()?;
    let (agent_stdin, stdin) = if spec.has_stdin { Some(io::pipe()?) } else { None }.unzip();
    let stdin = stdin.map(|write| pipe::Sender::from_owned_fd(write.into())).transpose()?;
    let ((stdout, agent_stdout), (stderr, agent_stderr)) = (io::pipe()?, io::pipe()?);
    // An agent with much output blocks less often. If there are too many large pipes, the usual size will do.
    fcntl_setpipe_size(&stdout, STDOUT_PIPE_BYTES).ok();
    // The files for the two processes wait in their sockets before the processes exist.
    send_file(&control, Some(&exec_orders.into()))?;
    send_file(&orders, agent_stdin.map(OwnedFd::from).as_ref())?;
    let network = spec.confinement.as_ref().and_then(|confinement| confinement.network.as_ref());
    let (network_channel, init_network) = network.map(|_| StdUnixStream::pair()).transpose()?.unzip();
    send_file(&orders, init_network.map(OwnedFd::from).as_ref())?;
    let child = start_supervisor(exe, &spec, supervisor_control, agent_stdout.into(), agent_stderr.into())?;
    let pid = child.pid();
    let supervisor = ProcessRef { pid, start_time: process_start_time(pid).unwrap_or_default() };
    let (reports, channel) = into_async(control)?.into_split();
    let (state_sender, state) = watch::channel(AgentState::default());
    let (hold, released) = oneshot::channel();
    let cgroup = SessionCgroup::create().map(Arc::new);
    let (session, session_cgroup) = (spec.session.clone(), cgroup.as_ref().ok().cloned());
    let watched = WatchedSupervisor { session, child, process: supervisor, cgroup: session_cgroup };
    task::spawn(watched.watch(reports, state_sender, released));
    let mut control = AgentControl { channel, supervisor, state, sent: AtomicU64::new(0), _hold: hold };
    // The order is sent only after the supervisor has reported the process: an agent that runs earlier could stop the
    // supervisor before that, and its first children would not be in the group.
    let agent = wait_for_agent(&mut control).await?;
    debug!(supervisor = pid, agent = agent.pid, is_confined = spec.confinement.is_some(), "agent process created");
    let grouped = cgroup.and_then(|cgroup| cgroup.add(agent));
    let answers = send_order(into_async(orders)?, &order).await;
    let mut report = match read_answers(&answers, &spec) {
        Ok(report) => report,
        Err(error) => {
            control.wait_until_gone().await;
            return Err(error);
        }
    };
    report.record(SandboxFeature::Cgroup, grouped);
    let is_isolated = report.enforced.contains(&SandboxFeature::NetworkNamespace);
    let network = network_channel.zip(network).filter(|_| is_isolated);
    Ok(RunningAgent {
        network: network.map(|(channel, network)| SessionNetwork::new(channel, network)).transpose()?,
        agent,
        sandbox: spec.confinement.is_some().then_some(report),
        stdin,
        stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
        stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
        control,
    })
}

/// Refuses values that no process can be given.
fn check_spec(spec: &ProcessSpec) -> Result<(), LaunchError> {
    let has_zero = |text: &OsStr| text.as_bytes().contains(&0);
    let is_invalid_name = |name: &OsStr| name.is_empty() || has_zero(name) || name.as_bytes().contains(&b'=');
    let network = spec.confinement.iter().filter_map(|confinement| confinement.network.as_ref());
    let mut variables = spec.env.iter().chain(network.flat_map(|network| &network.env));
    let checks = [
        (spec.argv.is_empty(), "no program given"),
        (spec.session.is_empty(), "no session given"),
        (spec.argv.iter().any(|arg| has_zero(arg)), "an argument contains a zero byte"),
        (variables.clone().any(|(name, _)| is_invalid_name(name)), "a variable has an invalid name"),
        (variables.any(|(_, value)| has_zero(value)), "a variable contains a zero byte"),
    ];
    match checks.into_iter().find(|(is_invalid, _)| *is_invalid) {
        Some((_, problem)) => Err(LaunchError::Invalid(problem)),
        None => Ok(()),
    }
}

fn into_async(socket: StdUnixStream) -> io::Result<UnixStream> {
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// Starts a supervisor in a new process group, so that Ctrl-C on Switchboard's terminal reaches Switchboard alone.
#[expect(clippy::disallowed_methods, reason = "this is where processes are started")]
fn start_supervisor(
    exe: &Path,
    spec: &ProcessSpec,
    control: StdUnixStream,
    stdout: OwnedFd,
    stderr: OwnedFd,
) -> io::Result<StartedChild> {
    let mut command = Command::new(exe);
    command.arg0("switchboard").args([SUPERVISE_MODE, &spec.session]);
    command.args(spec.confinement.as_ref().map(|_| "confined"));
    command.env_clear().env(SESSION_VARIABLE, &spec.session).current_dir("/").process_group(0);
    command.stdin(OwnedFd::from(control)).stdout(stdout).stderr(stderr);
    StartedChild::spawn(&mut command)
}

/// Sends the order, and reads the answers until the agent runs or has failed.
async fn send_order(mut channel: UnixStream, order: &[u8]) -> String {
    let (mut reader, mut writer) = channel.split();
    let send = async {
        // A process that does not read the order has answered with the reason, or is dead.
        drop(writer.write_all(order).await);
        drop(writer.shutdown().await);
    };
    let mut answers = String::new();
    let ((), read) = tokio::join!(send, reader.read_to_string(&mut answers));
    drop(read);
    answers
}

fn read_answers(answers: &str, spec: &ProcessSpec) -> Result<SandboxReport, LaunchError> {
    let (mut report, mut is_ready) = (SandboxReport::default(), false);
    for answer in answers.lines().filter_map(|line| ExecReport::parse(line.as_bytes())) {
        match answer {
            ExecReport::Enforced(feature) => report.enforced.push(feature),
            ExecReport::Missing(feature, reason) => report.add_missing(feature, reason),
            ExecReport::Ready => is_ready = true,
            ExecReport::Failed { stage, errno, message } => return Err(launch_error(stage, errno, message, spec)),
        }
    }
    if is_ready { Ok(report) } else { Err(supervisor_ended()) }
}

fn supervisor_ended() -> LaunchError {
    LaunchError::Supervisor(io::Error::other("it ended before the agent ran"))
}

fn launch_error(stage: ExecStage, errno: i32, cause: String, spec: &ProcessSpec) -> LaunchError {
    let program = spec.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    let is_missing = [Errno::NOENT, Errno::NOTDIR].map(Errno::raw_os_error).contains(&errno);
    match stage {
        ExecStage::Order => LaunchError::Supervisor(io::Error::other(cause)),
        ExecStage::Directory => LaunchError::Directory { path: spec.cwd.clone(), cause },
        ExecStage::Confinement => LaunchError::Confinement { program, cause },
        ExecStage::Program if is_missing => LaunchError::NotFound { program },
        ExecStage::Program if errno == Errno::TOOBIG.raw_os_error() => LaunchError::TooLong { program },
        ExecStage::Program => LaunchError::NotExecutable { program, cause },
    }
}

/// Waits for the process that becomes the agent.
async fn wait_for_agent(control: &mut AgentControl) -> Result<ProcessRef, LaunchError> {
    let known = control.state.wait_for(|state| state.agent.is_some() || state.gone.is_some()).await;
    known.ok().and_then(|state| state.agent).ok_or_else(supervisor_ended)
}
