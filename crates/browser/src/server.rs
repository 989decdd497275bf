//! A server on the stage: what it printed, its address, its token.

use std::{
    iter,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use rustix::process::Signal;
use switchboard_testkit::{
    load::{Api, Memory},
    stage::{Running, Stage},
};

/// How long it may take to greet.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that runs. It is killed when this is dropped.
pub struct Server {
    /// How programs ask it.
    pub api: Api,
    /// Another port under which browsers may ask for it, through a cable.
    pub door: u16,
    running: Option<Running>,
    program: PathBuf,
}

impl Server {
    /// Starts one on a port that nobody listens on.
    pub fn start(stage: &Stage, program: &Path) -> anyhow::Result<Self> {
        Self::start_on(stage, program, port()?, port()?)
    }

    fn start_on(stage: &Stage, program: &Path, port: u16, door: u16) -> anyhow::Result<Self> {
        let (listen, data, host) = (format!("127.0.0.1:{port}"), stage.data(), format!("127.0.0.1:{door}"));
        let args = ["serve", "--listen", &listen, "--allow-host", &host, "--data", &data.to_string_lossy()];
        let running = stage.start(program, &args)?;
        let link = greeting(&running)?;
        let (_, token) = link.split_once("?token=").context("the link has no token")?;
        let (api, running, program) = (Api { port, token: token.to_owned() }, Some(running), program.to_owned());
        Ok(Self { api, door, running, program })
    }

    /// Kills it, waits until it is gone, and starts another in its place.
    pub fn restart(&mut self, stage: &Stage) -> anyhow::Result<()> {
        let running = self.running.take().context("it does not run")?;
        running.signal(Signal::KILL)?;
        running.end()?;
        *self = Self::start_on(stage, &self.program, self.api.port, self.door)?;
        Ok(())
    }

    /// The address of a page.
    pub fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.api.port)
    }

    /// The link that it prints for people.
    pub fn link(&self) -> String {
        self.address(&format!("/?token={}", self.api.token))
    }

    /// Everything that it printed.
    pub fn printed(&self) -> String {
        let printed = self.running.as_ref().map(|running| format!("{}{}", running.stdout(), running.stderr()));
        printed.unwrap_or_default()
    }

    /// Its memory.
    pub fn memory(&self) -> anyhow::Result<Memory> {
        Memory::of(self.running.as_ref().context("it does not run")?.pid())
    }
}

/// The last port that was given to somebody.
static LAST: AtomicU16 = AtomicU16::new(20_000);

/// A port that nobody listens on, of those that the kernel gives to nobody: a page that tries to reach a server which is
/// gone would sooner or later be given the very port that it asks for, and have reached itself.
fn port() -> anyhow::Result<u16> {
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut ports = iter::repeat_with(|| LAST.fetch_add(1, Ordering::Relaxed)).take_while(|port| *port < 32_000);
    ports.find(is_free).context("no port is free")
}

/// Waits for the link that lets a browser in.
fn greeting(running: &Running) -> anyhow::Result<String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let said = running.stderr();
        let link = said.lines().find_map(|line| line.trim().strip_prefix("open"));
        if let Some(link) = link.filter(|_| said.contains("  data ")) {
            return Ok(link.trim().to_owned());
        }
        if Instant::now() > end || said.starts_with("error: ") {
            bail!("the server does not start: {said}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}
