//! `switchboard serve` and `switchboard token`, as their users run them: a server on a free port with its own data directory.

mod agent_access;
mod lifecycle;
mod limits;
mod tls;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read, Write},
    net::TcpStream,
    os::unix::{fs::chown, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{ORDINARY_USER_ID, command, ordinary_user_command};

/// Fails a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub struct ServeProcess {
    pub child: Child,
    pub port: u16,
    pub token: String,
    /// The startup message.
    pub greeting: String,
    pub folder: TempDir,
    /// The Unix socket that requests are sent to, if the server's port has TLS.
    pub socket: Option<PathBuf>,
    stderr: BufReader<ChildStderr>,
}

impl ServeProcess {
    pub fn start() -> Self {
        Self::with(tempfile::tempdir().unwrap(), &[])
    }

    /// Starts a server with more arguments, possibly on an existing data directory.
    pub fn with(folder: TempDir, more: &[&str]) -> Self {
        Self::run(folder, more, command)
    }

    /// Starts a server with a replacement for an agent's program.
    pub fn with_agent(variable: &str, program: &Path) -> Self {
        Self::run(tempfile::tempdir().unwrap(), &[], |args| {
            let mut command = command(args);
            command.env(variable, program);
            command
        })
    }

    /// Starts a server as an unprivileged user, if the tests run as root.
    pub fn as_ordinary_user() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        rustix::process::geteuid().is_root().then_some(())?;
        chown(folder.path(), Some(ORDINARY_USER_ID), Some(ORDINARY_USER_ID)).unwrap();
        let path = folder.path().to_owned();
        Some(Self::run(folder, &[], |args| ordinary_user_command(&path, args)))
    }

    /// Starts a server with more arguments and its own way to make the command.
    pub fn run(folder: TempDir, more: &[&str], command: impl Fn(&[&str]) -> Command) -> Self {
        let data = folder.path().join("data");
        let args = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        let mut child = command(&args)
            .current_dir(folder.path())
            .env_remove("SWITCHBOARD_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("\n  data ") {
            assert_ne!(stderr.read_line(&mut greeting).unwrap(), 0, "it ended: {greeting}");
        }
        let port = greeting.split("://127.0.0.1:").nth(1).unwrap().split(['\n', '/']).next().unwrap();
        let port = port.parse().unwrap();
        let token = fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
        Self { child, port, token, greeting, folder, socket: None, stderr }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Sends a request with the token, and returns the status and the body.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let (port, token, length) = (self.port, &self.token, body.len());
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        let text = self.send_raw(&format!("{head}{body}"));
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Sends a request as it is, and returns the whole response.
    pub fn send_raw(&self, request: &str) -> String {
        match &self.socket {
            Some(socket) => {
                let stream = UnixStream::connect(socket).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                exchange(stream, request)
            }
            None => {
                let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                exchange(stream, request)
            }
        }
    }

    /// Starts a session and returns its ID.
    pub fn session(&self, request: &Value) -> String {
        let (status, body) = self.ask("POST", "/api/sessions", Some(request));
        assert_eq!(status, 201, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// Returns all events of a session, to its end.
    pub fn events(&self, session: &str) -> String {
        self.ask("GET", &format!("/api/sessions/{session}/stream?dialect=events"), None).1
    }

    pub fn sessions(&self) -> Vec<Value> {
        let (_, body) = self.ask("GET", "/api/sessions", None);
        serde_json::from_str::<Value>(&body).unwrap()["sessions"].as_array().unwrap().clone()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits until the server has printed a text.
    pub fn wait_for(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "it never said `{text}`");
        }
    }

    /// Waits for the end and returns the exit code.
    pub fn ended(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Stops the server, and returns what it wrote to standard error since it started.
    pub fn stop_and_read_stderr(mut self) -> String {
        self.signal(Signal::TERM);
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        assert_eq!(self.ended(), Some(0));
        text
    }

    /// Tells it to end, and gives the folder for another.
    pub fn stop(mut self) -> TempDir {
        self.signal(Signal::TERM);
        assert_eq!(self.ended(), Some(0));
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }
}

fn exchange(mut stream: impl Read + Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A request for an agent that is a script of the shell. In a sandbox it has the whole network, so that it reaches the server.
pub fn script(folder: &Path, text: &str, sandbox: &str) -> Value {
    serde_json::json!({
        "agentType": "acp",
        "prompt": "go",
        "command": ["bash", "-c", text],
        "config": { "workingDirectory": folder, "sandboxMode": sandbox, "networkAccess": true },
    })
}
