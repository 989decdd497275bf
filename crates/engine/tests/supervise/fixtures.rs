//! Starts the fake agent and watches processes, for all tests.

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
    AgentControl, Confinement, LaunchError, ProcessRef, ProcessSpec, RunningAgent, SESSION_VARIABLE,
    process_start_time, start_agent,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    net::unix::pipe,
};

/// The fake agent, which is also the program whose hidden modes supervise it.
pub const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_switchboard-fake-agent");

/// Longer than any successful operation. A test that waits this long has failed.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns a unique session name.
pub fn session() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

pub fn spec(role: &[&str]) -> ProcessSpec {
    ProcessSpec {
        argv: [FAKE_AGENT].iter().chain(role).map(Into::into).collect(),
        env: Vec::new(),
        cwd: "/".into(),
        cwd_identity: None,
        has_stdin: true,
        confinement: None,
        session: session(),
    }
}

pub fn confined(role: &[&str], writable: &[&Path]) -> ProcessSpec {
    let writable = writable.iter().map(|path| path.to_path_buf()).collect();
    ProcessSpec { confinement: Some(Confinement { writable, ..Confinement::default() }), ..spec(role) }
}

pub async fn play(spec: &ProcessSpec) -> FakeAgent {
    FakeAgent::new(try_play(spec).await.unwrap())
}

pub async fn try_play(spec: &ProcessSpec) -> Result<RunningAgent, LaunchError> {
    start_agent(Path::new(FAKE_AGENT), spec.clone()).await
}

/// An agent whose lines are read.
pub struct FakeAgent {
    pub process: ProcessRef,
    pub stdin: Option<pipe::Sender>,
    pub stdout: Lines<BufReader<pipe::Receiver>>,
    pub stderr: Lines<BufReader<pipe::Receiver>>,
    pub control: AgentControl,
}

impl FakeAgent {
    pub fn new(running: RunningAgent) -> Self {
        Self {
            process: running.agent,
            stdin: running.stdin,
            stdout: BufReader::new(running.stdout).lines(),
            stderr: BufReader::new(running.stderr).lines(),
            control: running.control,
        }
    }

    /// Returns the next line of its output.
    pub async fn line(&mut self) -> Option<String> {
        tokio::time::timeout(TEST_TIMEOUT, self.stdout.next_line()).await.unwrap().unwrap()
    }

    /// Returns the remaining lines until its output ends.
    pub async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(line);
        }
        lines
    }

    /// Returns the process that announces itself next.
    pub async fn announced_process(&mut self) -> ProcessRef {
        announced_process(&self.line().await.unwrap())
    }

    /// Returns the next processes that announce themselves.
    pub async fn announced_processes(&mut self, count: usize) -> Vec<ProcessRef> {
        let mut processes = Vec::new();
        while processes.len() < count {
            processes.push(self.announced_process().await);
        }
        processes
    }

    /// Waits until all its processes have ended.
    pub async fn gone(&self) {
        assert_eq!(tokio::time::timeout(TEST_TIMEOUT, self.control.wait_until_gone()).await.unwrap(), 0);
    }
}

/// Parses the process in `NAME PID START`.
pub fn announced_process(line: &str) -> ProcessRef {
    let words: Vec<&str> = line.split(' ').collect();
    let [_, pid, start] = words.as_slice() else { panic!("no introduction: {line}") };
    ProcessRef { pid: pid.parse().unwrap(), start_time: start.parse().unwrap() }
}

/// Returns whether a process runs.
pub fn is_alive(process: ProcessRef) -> bool {
    let is_dead = || fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default().contains(") Z ");
    process_start_time(process.pid) == Some(process.start_time) && !is_dead()
}

#[track_caller]
pub fn wait_for_end(process: ProcessRef) {
    let pid = Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
    // Without a handle the process is gone.
    if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
        && is_alive(process)
    {
        let long = Timespec::try_from(TEST_TIMEOUT).unwrap();
        assert_eq!(poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&long)), Ok(1), "{process:?} stays");
    }
}

/// Returns the living processes with the mark of a session.
pub fn marked_processes(session: &str) -> Vec<ProcessRef> {
    let mark = format!("{SESSION_VARIABLE}={session}");
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let processes =
        pids.filter(is_marked).filter_map(|pid| Some(ProcessRef { pid, start_time: process_start_time(pid)? }));
    processes.filter(|process| is_alive(*process)).collect()
}

pub fn supervisor_of(agent: ProcessRef) -> ProcessRef {
    let stat = fs::read_to_string(format!("/proc/{}/stat", agent.pid)).unwrap();
    let pid = stat.rsplit(')').next().unwrap().split(' ').nth(2).unwrap().parse().unwrap();
    ProcessRef { pid, start_time: process_start_time(pid).unwrap() }
}

/// Returns a command that starts the fake agent without a supervisor.
#[expect(clippy::disallowed_methods, reason = "the tests also start it directly, to see the difference")]
pub fn direct_command(role: &[&str], session: &str) -> Command {
    let mut command = Command::new(FAKE_AGENT);
    command.args(role).env(SESSION_VARIABLE, session).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// A temporary directory, removed when dropped.
pub struct TestDirectory(pub PathBuf);

impl TestDirectory {
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(format!("switchboard-{}", session()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Creates a file in it with some content.
    pub fn file(&self, name: impl AsRef<OsStr>) -> PathBuf {
        let path = self.0.join(name.as_ref());
        fs::write(&path, "something").unwrap();
        path
    }

    pub fn directory(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir(&path).unwrap();
        path
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
