//! Starts an agent below a supervisor. The only place of the engine that starts processes.

use std::{
    io,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream as Socket, process::CommandExt as _},
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, atomic::AtomicU64},
};

use rustix::io::Errno;
use thiserror::Error;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixStream, unix::pipe},
    sync::{oneshot, watch},
    task,
};

use super::{
    cgroup::SessionCgroup,
    control::{Control, Running, State},
    handover, hidden,
    order::{self, Answer, Stage},
    orphans::StartedChild,
    process::{Process, start_time},
    sandbox::{SandboxFeature, SandboxReport, refusal_hint},
    spec::{Input, SESSION_VARIABLE, Spec},
    watcher,
};

/// How much an agent may have said that we have not read.
const OUTPUT: usize = 256 << 10;

/// Why an agent was not started. Nothing of it is left.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no such program.
    #[error("no program `{program}`")]
    NotFound {
        /// As it was named.
        program: String,
    },
    /// There is one, but it cannot be run.
    #[error("cannot run `{program}`: {cause}")]
    NotExecutable {
        /// As it was named.
        program: String,
        /// Why.
        cause: String,
    },
    /// The arguments or the environment are longer than the system takes.
    #[error("the arguments for `{program}` are too long")]
    TooLong {
        /// As it was named.
        program: String,
    },
    /// The working directory cannot be entered.
    #[error("cannot work in {}: {cause}", .path.display())]
    Directory {
        /// The folder.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// The confinement cannot be enforced.
    #[error("cannot confine `{program}`: {cause}")]
    Confinement {
        /// As it was named.
        program: String,
        /// Why.
        cause: String,
    },
    /// Something that no process can be given.
    #[error("cannot start an agent: {0}")]
    Invalid(String),
    /// Our own part of it failed.
    #[error("cannot start the supervisor: {0}")]
    Supervisor(#[from] io::Error),
}

impl StartError {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { .. } => "install it, or check PATH".to_owned(),
            Self::NotExecutable { .. } => "check that it is a program and executable (chmod +x)".to_owned(),
            Self::TooLong { .. } => "an argument may have 128 KiB; give a long prompt on standard input".to_owned(),
            Self::Directory { .. } => "name a directory that exists and that you may enter".to_owned(),
            Self::Confinement { cause, .. } => refusal_hint(cause),
            Self::Invalid(_) => return None,
            Self::Supervisor(_) => "check the limits on processes and open files".to_owned(),
        })
    }
}

/// Starts an agent. `exe` is this program, whose hidden modes do the work: `/proc/self/exe` is right also after an
/// update has replaced the file.
///
/// Dropping the future kills what was started so far.
pub async fn start(exe: &Path, spec: Spec) -> Result<Running, StartError> {
    let order = checked(&spec)?;
    let (control, supervisors) = Socket::pair()?;
    let (orders, execs) = Socket::pair()?;
    let (stdin, agents_stdin) = input(spec.stdin)?;
    let ((stdout, agents_stdout), (stderr, agents_stderr)) = (io::pipe()?, io::pipe()?);
    // An agent that says much need not stop so often. If there are too many large pipes, the usual size will do.
    rustix::pipe::fcntl_setpipe_size(&stdout, OUTPUT).ok();
    // What the two processes will need waits in their sockets before they are there.
    handover::send(&control, Some(&execs.into()))?;
    handover::send(&orders, agents_stdin.as_ref())?;
    drop(agents_stdin);
    let outputs = [agents_stdout.into(), agents_stderr.into()];
    let supervisor = supervisor(exe, &spec, supervisors, outputs)?;
    let pid = supervisor.pid();
    let process = Process { pid, start_time: start_time(pid).unwrap_or_default() };
    let (reports, channel) = asynchronous(control)?.into_split();
    let (news, state) = watch::channel(State::default());
    let (hold, released) = oneshot::channel();
    let cgroup = SessionCgroup::create().map(Arc::new);
    let ending = watcher::Ending { session: spec.session.clone(), cgroup: cgroup.as_ref().ok().cloned() };
    task::spawn(watcher::watch(reports, supervisor, process, ending, news, released));
    let mut control = Control { channel, supervisor: process, state, sent: AtomicU64::new(0), _hold: hold };
    // The order is given only when the supervisor has reported the process: an agent that runs earlier could stop the
    // supervisor before it does, and its first children would not be in the group.
    let agent = agent(&mut control).await?;
    let grouped = cgroup.and_then(|cgroup| cgroup.add(agent));
    match give(asynchronous(orders)?, &order).await.and_then(|answers| sandbox_report(&answers, &spec)) {
        Ok(mut report) => {
            report.record(SandboxFeature::Cgroup, grouped);
            Ok(Running {
                agent,
                sandbox: spec.confine.is_some().then_some(report),
                stdin,
                stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
                stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
                control,
            })
        }
        Err(error) => {
            control.gone().await;
            Err(error)
        }
    }
}

fn checked(spec: &Spec) -> Result<Vec<u8>, StartError> {
    if spec.argv.is_empty() {
        return Err(StartError::Invalid("no program is named".to_owned()));
    }
    if spec.session.is_empty() {
        return Err(StartError::Invalid("no session is named".to_owned()));
    }
    order::encode(spec).map_err(|what| StartError::Invalid(format!("{} that no process can be given", what.0)))
}

fn asynchronous(socket: Socket) -> io::Result<UnixStream> {
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// Our end of the agent's standard input, and the agent's.
fn input(kind: Input) -> io::Result<(Option<pipe::Sender>, Option<OwnedFd>)> {
    match kind {
        Input::Closed => Ok((None, None)),
        Input::Open => {
            let (read, write) = io::pipe()?;
            Ok((Some(pipe::Sender::from_owned_fd(write.into())?), Some(read.into())))
        }
    }
}

/// In a process group of its own, so that Ctrl-C on our terminal leaves the decision to us.
#[expect(clippy::disallowed_methods, reason = "this is where processes are started")]
fn supervisor(exe: &Path, spec: &Spec, control: Socket, outputs: [OwnedFd; 2]) -> io::Result<StartedChild> {
    let [stdout, stderr] = outputs;
    let mut command = Command::new(exe);
    command
        .arg0("switchboard")
        .args([hidden::SUPERVISE, &spec.session])
        .args(spec.confine.as_ref().map(|_| "confined"));
    command.env_clear().env(SESSION_VARIABLE, &spec.session).current_dir("/").process_group(0);
    command.stdin(OwnedFd::from(control)).stdout(stdout).stderr(stderr);
    StartedChild::spawn(&mut command)
}

/// Gives the order, and takes the answers until the agent runs or will not.
async fn give(mut orders: UnixStream, order: &[u8]) -> Result<String, StartError> {
    let (mut answers, mut channel) = orders.split();
    let give = async {
        // A process that does not take the order has answered with the reason, or is dead.
        drop(channel.write_all(order).await);
        drop(channel.shutdown().await);
    };
    let mut said = String::new();
    let ((), read) = tokio::join!(give, answers.read_to_string(&mut said));
    drop(read);
    Ok(said)
}

/// The sandbox that the answers report.
fn sandbox_report(answers: &str, spec: &Spec) -> Result<SandboxReport, StartError> {
    let (mut report, mut ready) = (SandboxReport::default(), false);
    for answer in answers.lines().filter_map(Answer::parse) {
        match answer {
            Answer::Enforced(feature) => report.enforce(feature),
            Answer::Missing(feature, reason) => report.miss(feature, reason),
            Answer::Ready => ready = true,
            Answer::Failed(stage, errno, text) => return Err(failure(stage, errno, text, spec)),
        }
    }
    if ready { Ok(report) } else { Err(lost()) }
}

fn lost() -> StartError {
    StartError::Supervisor(io::Error::other("it ended before the agent ran"))
}

fn failure(stage: Stage, errno: i32, cause: String, spec: &Spec) -> StartError {
    let program = spec.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    let missing = [Errno::NOENT, Errno::NOTDIR].map(Errno::raw_os_error).contains(&errno);
    match stage {
        Stage::Order => StartError::Supervisor(io::Error::other(cause)),
        Stage::Directory => StartError::Directory { path: spec.cwd.clone(), cause },
        Stage::Confine => StartError::Confinement { program, cause },
        Stage::Program if missing => StartError::NotFound { program },
        Stage::Program if errno == Errno::TOOBIG.raw_os_error() => StartError::TooLong { program },
        Stage::Program => StartError::NotExecutable { program, cause },
    }
}

/// The process that becomes the agent.
async fn agent(control: &mut Control) -> Result<Process, StartError> {
    let known = control.state.wait_for(|state| state.agent.is_some() || state.gone.is_some()).await;
    known.ok().and_then(|state| state.agent).ok_or_else(lost)
}
