//! A server on the stage with its output, address and token.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};
use std::{io, iter, thread};

use anyhow::{Context as _, bail};
use parking_lot::Mutex;
use rustix::process::Signal;
use switchboard_testkit::load::{ProcessMemory, TestApiClient};
use switchboard_testkit::stage::{AgentStage, StageProcess};

const SERVER_START_TIMEOUT: Duration = Duration::from_secs(20);

/// A running server. It is killed on drop.
pub struct PageServer {
    pub api: TestApiClient,
    /// Another port for browsers, through a proxy.
    pub door: u16,
    running: Option<StageProcess>,
    program: PathBuf,
}

impl PageServer {
    /// Starts a server on a free port.
    pub fn start(stage: &AgentStage, program: &Path) -> anyhow::Result<Self> {
        Self::start_on_ports(stage, program, find_free_port()?, find_free_port()?)
    }

    fn start_on_ports(stage: &AgentStage, program: &Path, port: u16, door: u16) -> anyhow::Result<Self> {
        let (listen, data, host) = (format!("127.0.0.1:{port}"), stage.data_dir(), format!("127.0.0.1:{door}"));
        let args = ["serve", "--listen", &listen, "--allow-host", &host, "--data", &data.to_string_lossy()];
        let running = stage.start_process(program, &args)?;
        let link = wait_for_link(&running)?;
        let (_, token) = link.split_once("?token=").context("the link has no token")?;
        let (api, running, program) =
            (TestApiClient { port, token: token.to_owned() }, Some(running), program.to_owned());
        Ok(Self { api, door, running, program })
    }

    /// Kills the server, waits until it has exited, and starts another one on the same port.
    pub fn restart(&mut self, stage: &AgentStage) -> anyhow::Result<()> {
        let running = self.running.take().context("it does not run")?;
        running.send_signal(Signal::KILL)?;
        running.wait_for_exit()?;
        *self = Self::start_on_ports(stage, &self.program, self.api.port, self.door)?;
        Ok(())
    }

    pub fn page_url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.api.port)
    }

    /// Returns the link that the server prints.
    pub fn sign_in_link(&self) -> String {
        self.page_url(&format!("/?token={}", self.api.token))
    }

    pub fn printed_output(&self) -> String {
        let printed =
            self.running.as_ref().map(|running| format!("{}{}", running.stdout_text(), running.stderr_text()));
        printed.unwrap_or_default()
    }

    pub fn memory_usage(&self) -> anyhow::Result<ProcessMemory> {
        ProcessMemory::read_for(self.running.as_ref().context("it does not run")?.pid())
    }
}

static NEXT_PORT: AtomicU16 = AtomicU16::new(20_000);

/// Returns a free port outside of the kernel's ephemeral range. A page that retries a stopped server could otherwise be
/// assigned that very port and connect to itself.
fn find_free_port() -> anyhow::Result<u16> {
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut ports = iter::repeat_with(|| NEXT_PORT.fetch_add(1, Ordering::Relaxed)).take_while(|port| *port < 32_000);
    ports.find(is_free).context("no port is free")
}

/// Waits for the link that signs a browser in.
fn wait_for_link(running: &StageProcess) -> anyhow::Result<String> {
    let end = Instant::now() + SERVER_START_TIMEOUT;
    loop {
        let said = running.stderr_text();
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

/// A proxy from one local port to another. While it is disconnected, open connections break and new ones are refused.
pub struct InterruptibleProxy {
    from: u16,
    to: u16,
    state: Arc<Mutex<ProxyConnections>>,
}

/// The open connections of the proxy.
#[derive(Default)]
struct ProxyConnections {
    /// Incremented at every disconnect; an acceptor with an older value stops.
    time: u64,
    open: Vec<TcpStream>,
}

impl InterruptibleProxy {
    /// Listens on `from` and forwards to `to`.
    pub fn new(from: u16, to: u16) -> anyhow::Result<Self> {
        let cable = Self { from, to, state: Arc::default() };
        cable.start_accepting()?;
        Ok(cable)
    }

    pub fn start_accepting(&self) -> anyhow::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", self.from)).context("the port is taken")?;
        let (state, to) = (Arc::clone(&self.state), self.to);
        let time = state.lock().time;
        thread::spawn(move || {
            for connection in listener.incoming() {
                let Ok(browser) = connection else { return };
                if !forward_connection(&state, time, browser, to) {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Breaks all connections and refuses new ones.
    pub fn disconnect_all(&self) {
        let mut state = self.state.lock();
        state.time += 1;
        for stream in state.open.drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
        drop(state);
        // Wakes the acceptor, so that it stops.
        drop(TcpStream::connect(("127.0.0.1", self.from)));
    }
}

impl Drop for InterruptibleProxy {
    fn drop(&mut self) {
        self.disconnect_all();
    }
}

/// Forwards a connection in both directions. Returns false if the proxy has been disconnected since.
fn forward_connection(state: &Mutex<ProxyConnections>, time: u64, browser: TcpStream, to: u16) -> bool {
    let mut state = state.lock();
    if state.time != time {
        return false;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { return true };
    for (from, to) in [(&browser, &server), (&server, &browser)] {
        let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return true };
        thread::spawn(move || {
            drop(io::copy(&mut from, &mut to));
            drop(to.shutdown(Shutdown::Both));
        });
    }
    state.open.extend([browser, server]);
    true
}
