//! Clients that load a server, for benchmarks and soak tests. They only count messages and check that none is missing,
//! so that the server is measured and not the client. Each blocks its own thread. HTTP, WebSocket and server-sent
//! events are parsed by hand, because a library would be the bottleneck.
//!
//! ```text
//! ServerStage ─► RunningServer (its port and token) ─► TestApiClient (requests)
//!                                                   └► LoadFeed (WebSocket or SSE) ─► FeedTally (counts, checks)
//!             ─► HarnessLoadClient (the harness protocol on standard input and output; counts, checks)
//! ```

mod client;
mod feed;
mod peer;
mod reader;
mod threads;

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, thread};

use anyhow::{Context as _, bail, ensure};

use crate::clis::AGENT_CLIS;
use crate::fake;
use crate::stage::{AgentStage, StagePrograms};

pub use client::{ApiResponse, BufferedSocket, TestApiClient, read_response};
pub use feed::{
    FeedEnd, FeedMessage, FeedOrigin, FeedTransport, LoadFeed, WebSocketFeed, WebSocketFrame, masked_frame,
};
pub use peer::{PeerFeedStats, PeerServer};
pub use reader::{FeedReadResult, FeedReader, FeedTally, ReaderBehavior, embedded_time, event_seq};
pub use threads::{HarnessIncoming, HarnessLoadClient};

/// The fake performs every prompt as a turn.
pub const FOLLOW_PROMPTS_SCRIPT: &str = "open\nobey\ndone\nfollow";

const FAKE_PROTOCOL_NAME: &str = "stream-json";

const READY_TIMEOUT: Duration = Duration::from_secs(20);

const STOP_TIMEOUT: Duration = Duration::from_secs(20);

pub struct ServerStage {
    pub stage: AgentStage,
    pub program: PathBuf,
    /// The agent that the fake replaces, by its name in Switchboard.
    pub agent: &'static str,
}

pub struct RunningServer {
    pub api: TestApiClient,
    child: Child,
    /// Time from the start to the first response.
    pub ready: Duration,
}

impl ServerStage {
    pub fn new(program: &Path) -> anyhow::Result<Self> {
        let mut stage = AgentStage::new(&StagePrograms { clis: "/nowhere".into(), node: "/nowhere".into() })?;
        let cli =
            AGENT_CLIS.iter().find(|cli| cli.fake == Some(FAKE_PROTOCOL_NAME)).context("no agent can be faked")?;
        let about = switchboard_agents::AGENTS.iter().find(|agent| agent.name == cli.name).context("no such agent")?;
        let version = about.versions.as_ref().map_or("1.0.0", |versions| versions.tested);
        let fake = fake::write_fake_program(
            stage.root_dir(),
            "obedient",
            &format!("version {version}\n{FOLLOW_PROMPTS_SCRIPT}"),
        )?;
        stage.set_variable(&format!("SWITCHBOARD_{}", cli.name.to_uppercase()), Some(&fake.to_string_lossy()));
        let program = program.canonicalize().with_context(|| format!("there is no {}", program.display()))?;
        Ok(Self { stage, program, agent: cli.name })
    }

    /// Starts the server on a port with the existing data.
    pub fn start_server(&self, port: u16, options: &[&str]) -> anyhow::Result<RunningServer> {
        let (listen, data) = (format!("127.0.0.1:{port}"), self.stage.data_dir());
        let data = data.to_string_lossy();
        let mut command = self.stage.new_command(&self.program, &["serve", "--listen", &listen, "--data", &data]);
        let complaints =
            fs::File::options().create(true).append(true).open(self.stage.root_dir().join("server.log"))?;
        command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints);
        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {}", self.program.display()))?;
        let mut served =
            RunningServer { api: TestApiClient { port, token: String::new() }, child, ready: Duration::ZERO };
        served.wait_until_ready(began, "/api/health").with_context(|| self.log_tail())?;
        let token = self.stage.run(&self.program, &["token", "--data", &data], "")?;
        ensure!(token.code == Some(0), "no token: {}", token.describe_output());
        token.stdout.trim().clone_into(&mut served.api.token);
        Ok(served)
    }

    /// Returns the end of the server log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.stage.root_dir().join("server.log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl RunningServer {
    /// Waits for any program that listens on a port and answers `health`.
    pub fn from_child(child: Child, began: Instant, port: u16, health: &str) -> anyhow::Result<Self> {
        let mut served = Self { api: TestApiClient { port, token: String::new() }, child, ready: Duration::ZERO };
        served.wait_until_ready(began, health)?;
        Ok(served)
    }

    fn wait_until_ready(&mut self, began: Instant, health: &str) -> anyhow::Result<()> {
        while began.elapsed() < READY_TIMEOUT {
            if TcpStream::connect(("127.0.0.1", self.api.port)).is_ok()
                && self.api.send_request("GET", health, None).is_ok_and(|response| response.status == 200)
            {
                self.ready = began.elapsed();
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status}");
            }
            thread::sleep(Duration::from_micros(200));
        }
        bail!("the server does not answer")
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn memory_usage(&self) -> anyhow::Result<ProcessMemory> {
        ProcessMemory::read_for(self.pid())
    }

    /// Kills the server.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Sends SIGTERM and waits for the exit. Returns the elapsed time.
    pub fn stop(mut self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw).context("no process")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        while began.elapsed() < STOP_TIMEOUT {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the server ended with {status}");
                return Ok(began.elapsed());
            }
            thread::sleep(Duration::from_millis(1));
        }
        bail!("the server does not end")
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // It may have exited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Returns nanoseconds since 1970 by the clock that all programs on this machine share.
#[expect(clippy::disallowed_methods, reason = "whoever measures a fake needs to know when it spoke")]
#[must_use]
pub fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The same on all supported machines.
const CLOCK_TICKS_PER_SECOND: f64 = 100.0;

/// Returns the processor time of a process. Unlike the elapsed time, it does not depend on other work of the machine.
pub fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let file = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    // The program name in parentheses may contain anything.
    let (_, rest) = stat.rsplit_once(')').context("no such file as it was")?;
    let ticks = rest.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / CLOCK_TICKS_PER_SECOND)
}

/// The memory of a process, in kilobytes.
#[derive(Clone, Copy, Debug)]
pub struct ProcessMemory {
    pub now: u64,
    /// Highest value so far.
    pub peak: u64,
}

impl ProcessMemory {
    pub fn read_for(pid: u32) -> anyhow::Result<Self> {
        let file = format!("/proc/{pid}/status");
        let status = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).with_context(|| format!("no {name}"))
        };
        Ok(Self { now: field("VmRSS:")?, peak: field("VmHWM:")? })
    }
}
