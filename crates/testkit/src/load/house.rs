//! Where a server is put under load: a stage with a fake agent on it that does what its prompt says, and the server.

use std::{
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};

use super::{api::Api, memory::Memory};
use crate::{
    clis::CLIS,
    fake,
    stage::{Programs, Stage},
};

/// What every fake of the house does: what its prompts say, each of which is a turn.
pub const OBEDIENT: &str = "open\nobey\ndone\nfollow";

/// What it speaks.
const SPEAKS: &str = "stream-json";

/// How long a server may take to answer for the first time.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a server may take to end.
const ENDING: Duration = Duration::from_secs(20);

/// A place for servers.
pub struct House {
    /// The folders and the environment.
    pub stage: Stage,
    /// Switchboard.
    pub program: PathBuf,
    /// The agent that is a fake here, as users of Switchboard call it.
    pub agent: &'static str,
}

/// A server that runs.
pub struct Served {
    /// How it is asked.
    pub api: Api,
    child: Child,
    /// How long it took from its start to its first answer.
    pub ready: Duration,
}

impl House {
    /// A place for the servers of a program.
    pub fn new(program: &Path) -> anyhow::Result<Self> {
        let mut stage = Stage::new(&Programs { clis: "/nowhere".into(), node: "/nowhere".into() })?;
        let cli = CLIS.iter().find(|cli| cli.fake == Some(SPEAKS)).context("no agent can be faked")?;
        let about = switchboard_agents::AGENTS.iter().find(|agent| agent.name == cli.name).context("no such agent")?;
        let version = about.versions.as_ref().map_or("1.0.0", |versions| versions.tested);
        let fake = fake::program(stage.root(), "obedient", &format!("version {version}\n{OBEDIENT}"))?;
        stage.set(&format!("SWITCHBOARD_{}", cli.name.to_uppercase()), Some(&fake.to_string_lossy()));
        let program = program.canonicalize().with_context(|| format!("there is no {}", program.display()))?;
        Ok(Self { stage, program, agent: cli.name })
    }

    /// Starts the server on a port, with the data that is there.
    pub fn serve(&self, port: u16, options: &[&str]) -> anyhow::Result<Served> {
        let (listen, data) = (format!("127.0.0.1:{port}"), self.stage.data());
        let data = data.to_string_lossy();
        let mut command = self.stage.command(&self.program, &["serve", "--listen", &listen, "--data", &data]);
        let complaints =
            std::fs::File::options().create(true).append(true).open(self.stage.root().join("server.log"))?;
        command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints);
        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {}", self.program.display()))?;
        let mut served = Served { api: Api { port, token: String::new() }, child, ready: Duration::ZERO };
        served.wait(began, "/api/health").with_context(|| self.complaints())?;
        let token = self.stage.run(&self.program, &["token", "--data", &data], "")?;
        ensure!(token.code == Some(0), "no token: {}", token.shown());
        token.stdout.trim().clone_into(&mut served.api.token);
        Ok(served)
    }

    /// What the servers complained about.
    #[must_use]
    pub fn complaints(&self) -> String {
        let log = std::fs::read_to_string(self.stage.root().join("server.log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Served {
    /// Any program that listens on a port, with a path that it answers when it is ready.
    pub fn other(child: Child, began: Instant, port: u16, health: &str) -> anyhow::Result<Self> {
        let mut served = Self { api: Api { port, token: String::new() }, child, ready: Duration::ZERO };
        served.wait(began, health)?;
        Ok(served)
    }

    /// Asks until it answers.
    fn wait(&mut self, began: Instant, health: &str) -> anyhow::Result<()> {
        while began.elapsed() < PATIENCE {
            if TcpStream::connect(("127.0.0.1", self.api.port)).is_ok()
                && self.api.ask("GET", health, None).is_ok_and(|response| response.status == 200)
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

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its memory.
    pub fn memory(&self) -> anyhow::Result<Memory> {
        Memory::of(self.pid())
    }

    /// Ends it without a warning.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end and waits until it has; says how long that took.
    pub fn stop(mut self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw).context("no process")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        while began.elapsed() < ENDING {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the server ended with {status}");
                return Ok(began.elapsed());
            }
            thread::sleep(Duration::from_millis(1));
        }
        bail!("the server does not end")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A port that nobody listens on.
pub fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
