//! A client of JSON-RPC, one message per line, on the standard streams of a program. It calls, waits, answers, and
//! keeps unread messages. It does not interpret messages.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::load::unix_nanos;

const MESSAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// Number of recent messages that a timeout error shows.
const SHOWN_MESSAGE_COUNT: usize = 12;

/// A client. Its program is killed on drop.
pub struct RpcTestClient {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<ReceivedMessage>,
    /// Received messages that were not waited for yet.
    unheard: VecDeque<ReceivedMessage>,
    /// Recent messages for timeout errors.
    last: VecDeque<String>,
    complaints: Option<JoinHandle<String>>,
    calls: u64,
}

#[derive(Clone, Debug)]
pub struct ReceivedMessage {
    /// Arrival, in nanoseconds since 1970.
    pub at: u64,
    /// The message; null if it is not JSON.
    pub body: Value,
}

impl RpcTestClient {
    /// Starts a program.
    pub fn start(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the program")?;
        let (stdout, mut stderr) =
            (child.stdout.take().context("no output")?, child.stderr.take().context("no output")?);
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::with_capacity(1 << 16, stdout).split(b'\n').map_while(Result::ok) {
                let at = unix_nanos();
                if sender.send(ReceivedMessage { at, body: serde_json::from_slice(&line).unwrap_or_default() }).is_err()
                {
                    return;
                }
            }
        });
        let complaints = thread::spawn(move || {
            let mut text = Vec::new();
            drop(stderr.read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        });
        let (unheard, last, stdin) = (VecDeque::new(), VecDeque::new(), child.stdin.take());
        Ok(Self { child, stdin, lines, unheard, last, complaints: Some(complaints), calls: 0 })
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn send_message(&mut self, message: &Value) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().context("its input is closed")?;
        stdin.write_all(format!("{message}\n").as_bytes()).context("it does not read any more")
    }

    /// Sends a request without waiting, and returns its id.
    pub fn send_request(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.calls += 1;
        self.send_message(&json!({ "id": self.calls, "method": method, "params": params }))?;
        Ok(self.calls)
    }

    /// Sends a request and returns its result.
    pub fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.send_request(method, params)?;
        let mut response = self.wait_for(method, |message| message["id"] == id && message.get("method").is_none())?;
        if let Some(error) = response.body.get("error") {
            bail!("{method} was refused: {error}");
        }
        Ok(response.body["result"].take())
    }

    /// Returns the first matching message, unread or still to come.
    pub fn wait_for(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<ReceivedMessage> {
        if let Some(place) = self.unheard.iter().position(|message| wanted(&message.body)) {
            return self.unheard.remove(place).context("it is there");
        }
        let end = Instant::now() + MESSAGE_TIMEOUT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.receive(left).with_context(|| self.timeout_message(what))?;
            if wanted(&message.body) {
                return Ok(message);
            }
            self.unheard.push_back(message);
        }
    }

    pub fn next_message(&mut self) -> anyhow::Result<ReceivedMessage> {
        match self.unheard.pop_front() {
            Some(message) => Ok(message),
            None => self.receive(MESSAGE_TIMEOUT).with_context(|| self.timeout_message("any message")),
        }
    }

    pub fn take_unread(&mut self) -> Vec<ReceivedMessage> {
        self.unheard.drain(..).collect()
    }

    /// Closes the input. Returns the exit status and the remaining messages.
    pub fn close(mut self) -> anyhow::Result<(ExitStatus, Vec<ReceivedMessage>)> {
        drop(self.stdin.take());
        loop {
            match self.lines.recv_timeout(MESSAGE_TIMEOUT) {
                Ok(message) => self.unheard.push_back(message),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => bail!(self.timeout_message("the end")),
            }
        }
        let status = self.child.wait()?;
        Ok((status, self.unheard.drain(..).collect()))
    }

    fn receive(&mut self, patience: Duration) -> anyhow::Result<ReceivedMessage> {
        let message = match self.lines.recv_timeout(patience) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => bail!("it took too long"),
            Err(RecvTimeoutError::Disconnected) => bail!("it ended: {}", self.stderr_text()),
        };
        self.last.push_back(message.body.to_string().chars().take(500).collect());
        if self.last.len() > SHOWN_MESSAGE_COUNT {
            self.last.pop_front();
        }
        Ok(message)
    }

    fn stderr_text(&mut self) -> String {
        self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }

    fn timeout_message(&self, what: &str) -> String {
        let last: Vec<_> = self.last.iter().map(String::as_str).collect();
        format!("never: {what}; the last messages were\n{}", last.join("\n"))
    }
}

impl Drop for RpcTestClient {
    fn drop(&mut self) {
        // It may have exited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
