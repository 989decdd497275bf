//! NATS servers on loopback, for tests.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// The variable with the path of the program.
const PROGRAM_VARIABLE: &str = "SWITCHBOARD_NATS_SERVER";

/// The ports are below those of outgoing connections, so that they stay free while a server is down.
const FIRST_PORT: u16 = 20_000;
const PORTS: u32 = 12_000;

const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the program of the server. Without it, reports that the test is not run.
#[expect(clippy::disallowed_methods, reason = "this is the place of the tests that reads the environment")]
#[expect(clippy::print_stdout, reason = "the output of a test that is not run says why")]
pub fn nats_program() -> Option<PathBuf> {
    let program = std::env::var_os(PROGRAM_VARIABLE).filter(|program| !program.is_empty()).map(PathBuf::from);
    if program.is_none() {
        println!("NOT RUN: {PROGRAM_VARIABLE} does not name a nats-server");
    }
    program
}

fn free_port() -> u16 {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = COUNTER.fetch_add(1, Ordering::Relaxed);
        let offset = std::process::id().wrapping_mul(7_919).wrapping_add(next.wrapping_mul(101)) % PORTS;
        let port = FIRST_PORT + u16::try_from(offset).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A server, killed on drop. It can be killed and started again with the same ports and store.
pub struct NatsServer {
    program: PathBuf,
    directory: PathBuf,
    name: String,
    pub port: u16,
    monitor: u16,
    child: Option<Child>,
}

impl NatsServer {
    fn prepare(program: &Path, directory: &Path, name: &str, port: u16, cluster: &str) -> Self {
        fs::create_dir_all(directory).unwrap();
        let store = directory.join("store");
        let monitor = free_port();
        let config = format!(
            "server_name: {name}\nlisten: \"127.0.0.1:{port}\"\nhttp: \"127.0.0.1:{monitor}\"\njetstream {{ store_dir: \
             {store:?}, sync_interval: \"always\" }}\n{cluster}"
        );
        fs::write(directory.join("nats.conf"), config).unwrap();
        let (program, directory, name) = (program.to_owned(), directory.to_owned(), name.to_owned());
        Self { program, directory, name, port, monitor, child: None }
    }

    /// Starts the server and waits until it accepts connections.
    #[expect(clippy::disallowed_methods, reason = "this is the place of the tests that starts servers")]
    pub fn start(&mut self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.directory.join("nats.log")).unwrap();
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.directory.join("nats.conf")).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().unwrap());
        let deadline = Instant::now() + START_TIMEOUT;
        while !self.is_listening() {
            assert!(Instant::now() < deadline, "{} did not start: {}", self.name, self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns whether this very server listens.
    fn is_listening(&self) -> bool {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut line = String::new();
        BufReader::new(stream.take(4096)).read_line(&mut line).is_ok() && line.contains(&self.name)
    }

    /// Returns whether the server and its replicas are up to date.
    fn is_healthy(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.monitor)) else { return false };
        stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let request = "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n";
        let mut answer = String::new();
        stream.write_all(request.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.starts_with("HTTP/1.0 200")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.join("nats.log")).unwrap_or_default()
    }

    /// Kills the server with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// One server, or three that form a cluster, and a directory for their stores and for those of their clients.
pub struct NatsServers {
    pub servers: Vec<NatsServer>,
    pub directory: TempDir,
}

impl NatsServers {
    /// Starts one server with additional configuration.
    pub fn single(config: &str) -> Option<Self> {
        let (program, directory) = (nats_program()?, tempfile::tempdir().unwrap());
        let name = format!("single-{}", std::process::id());
        let mut server = NatsServer::prepare(&program, &directory.path().join("nats"), &name, free_port(), config);
        server.start();
        Some(Self { servers: vec![server], directory })
    }

    /// Starts three servers that form a cluster.
    pub fn replicated() -> Option<Self> {
        let (program, directory) = (nats_program()?, tempfile::tempdir().unwrap());
        let routes: Vec<u16> = (0..3).map(|_| free_port()).collect();
        let list: Vec<_> = routes.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
        let mut servers: Vec<_> = (0..3)
            .map(|index| {
                let cluster = format!(
                    "cluster {{ name: test, listen: \"127.0.0.1:{}\", routes: [{}] }}\n",
                    routes[index],
                    list.join(", ")
                );
                let name = format!("replica-{index}-{}", std::process::id());
                NatsServer::prepare(&program, &directory.path().join(&name), &name, free_port(), &cluster)
            })
            .collect();
        servers.iter_mut().for_each(NatsServer::start);
        let started = Self { servers, directory };
        started.wait_until_healthy();
        Some(started)
    }

    /// Waits until all replicas have caught up.
    pub fn wait_until_healthy(&self) {
        wait_for("the servers are healthy", || self.servers.iter().all(NatsServer::is_healthy).then_some(()));
    }

    pub fn urls(&self) -> Vec<String> {
        self.servers.iter().map(NatsServer::url).collect()
    }
}

/// Waits for a condition that other processes bring about.
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "timeout: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
