//! Starting the fake agent and watching processes: what the tests have in common.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};
use switchboard_engine::supervise::{
    Confinement, Control, Input, Process, Running, SESSION_VARIABLE, Spec, StartError, start, start_time,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    net::unix::pipe,
};

/// The fake agent, which is also the program whose hidden modes supervise it.
pub const FAKE: &str = env!("CARGO_BIN_EXE_switchboard-fake-agent");

/// Longer than anything takes that works. A test that waits so long has failed.
pub const LONG: Duration = Duration::from_secs(60);

/// A session that no other test has.
pub fn session() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The fake agent in a role.
pub fn spec(role: &[&str]) -> Spec {
    Spec {
        argv: [FAKE].iter().chain(role).map(Into::into).collect(),
        env: Vec::new(),
        cwd: "/".into(),
        cwd_identity: None,
        stdin: Input::Open,
        confine: None,
        session: session(),
    }
}

/// The fake agent in a role, confined.
pub fn confined(role: &[&str], writable: &[&Path]) -> Spec {
    let writable = writable.iter().map(|path| path.to_path_buf()).collect();
    Spec { confine: Some(Confinement { writable, ..Confinement::default() }), ..spec(role) }
}

/// Starts it.
pub async fn play(spec: &Spec) -> Agent {
    Agent::new(try_play(spec).await.unwrap())
}

/// Starts it, if it can be.
pub async fn try_play(spec: &Spec) -> Result<Running, StartError> {
    start(Path::new(FAKE), spec.clone()).await
}

/// An agent whose lines are read.
pub struct Agent {
    pub process: Process,
    pub stdin: Option<pipe::Sender>,
    pub stdout: Lines<BufReader<pipe::Receiver>>,
    pub stderr: Lines<BufReader<pipe::Receiver>>,
    pub control: Control,
}

impl Agent {
    pub fn new(running: Running) -> Self {
        Self {
            process: running.agent,
            stdin: running.stdin,
            stdout: BufReader::new(running.stdout).lines(),
            stderr: BufReader::new(running.stderr).lines(),
            control: running.control,
        }
    }

    /// The next line it says.
    pub async fn line(&mut self) -> Option<String> {
        tokio::time::timeout(LONG, self.stdout.next_line()).await.unwrap().unwrap()
    }

    /// All it says until its output ends.
    pub async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(line);
        }
        lines
    }

    /// The process that introduces itself next.
    pub async fn introduced(&mut self) -> Process {
        introduced(&self.line().await.unwrap())
    }

    /// As many processes as introduce themselves.
    pub async fn all_introduced(&mut self, count: usize) -> Vec<Process> {
        let mut processes = Vec::new();
        while processes.len() < count {
            processes.push(self.introduced().await);
        }
        processes
    }

    /// Waits until nothing of it is left.
    pub async fn gone(&self) {
        assert_eq!(tokio::time::timeout(LONG, self.control.gone()).await.unwrap(), 0);
    }
}

/// The process that `NAME PID START` introduces.
pub fn introduced(line: &str) -> Process {
    let words: Vec<&str> = line.split(' ').collect();
    let [_, pid, start] = words.as_slice() else { panic!("no introduction: {line}") };
    Process { pid: pid.parse().unwrap(), start_time: start.parse().unwrap() }
}

/// The process runs, or waits to be reaped.
pub fn is_alive(process: Process) -> bool {
    let is_dead = || fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default().contains(") Z ");
    start_time(process.pid) == Some(process.start_time) && !is_dead()
}

/// Waits for a process to end.
#[track_caller]
pub fn wait_for_end(process: Process) {
    let pid = Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
    // Without a handle there is no process any more.
    if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
        && is_alive(process)
    {
        let long = Timespec::try_from(LONG).unwrap();
        assert_eq!(poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&long)), Ok(1), "{process:?} stays");
    }
}

/// The living processes with the mark of a session.
pub fn marked(session: &str) -> Vec<Process> {
    let mark = format!("{SESSION_VARIABLE}={session}");
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let processes = pids.filter(is_marked).filter_map(|pid| Some(Process { pid, start_time: start_time(pid)? }));
    processes.filter(|process| is_alive(*process)).collect()
}

/// The supervisor of an agent.
pub fn supervisor_of(agent: Process) -> Process {
    let stat = fs::read_to_string(format!("/proc/{}/stat", agent.pid)).unwrap();
    let pid = stat.rsplit(')').next().unwrap().split(' ').nth(2).unwrap().parse().unwrap();
    Process { pid, start_time: start_time(pid).unwrap() }
}

/// The fake agent without a supervisor.
#[expect(clippy::disallowed_methods, reason = "the tests also start it directly, to see the difference")]
pub fn direct(role: &[&str], session: &str) -> Command {
    let mut command = Command::new(FAKE);
    command.args(role).env(SESSION_VARIABLE, session).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// A new folder below the machine's temp folder, removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(format!("switchboard-{}", session()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// A file in it, with something inside.
    pub fn file(&self, name: impl AsRef<OsStr>) -> PathBuf {
        let path = self.0.join(name.as_ref());
        fs::write(&path, "something").unwrap();
        path
    }

    /// A folder in it.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir(&path).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
