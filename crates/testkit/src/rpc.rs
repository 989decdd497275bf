//! A client of JSON-RPC in lines, on the input and output of a program: it calls, waits, answers, and remembers what it
//! did not wait for. What the messages mean is for others to know.

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

use crate::load::now;

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much of the last messages is shown when one does not come.
const SHOWN: usize = 12;

/// A client. Its program is killed when this is dropped.
pub struct Rpc {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Message>,
    /// What came and was not waited for yet.
    unheard: VecDeque<Message>,
    /// The last messages, for whoever wonders why another did not come.
    last: VecDeque<String>,
    complaints: Option<JoinHandle<String>>,
    calls: u64,
}

/// A message that came.
#[derive(Clone, Debug)]
pub struct Message {
    /// When: nanoseconds since 1970.
    pub at: u64,
    /// What it says; nothing if it is not JSON.
    pub body: Value,
}

impl Rpc {
    /// A client of a program, which is started.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the program")?;
        let (stdout, mut stderr) =
            (child.stdout.take().context("no output")?, child.stderr.take().context("no output")?);
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::with_capacity(1 << 16, stdout).split(b'\n').map_while(Result::ok) {
                let at = now();
                if sender.send(Message { at, body: serde_json::from_slice(&line).unwrap_or_default() }).is_err() {
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

    /// The number of the program's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If nobody reads any more.
    pub fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().context("its input is closed")?;
        stdin.write_all(format!("{message}\n").as_bytes()).context("it does not read any more")
    }

    /// Sends a request without waiting for the response; gives its id.
    ///
    /// # Errors
    /// If nobody reads any more.
    pub fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.calls += 1;
        self.send(&json!({ "id": self.calls, "method": method, "params": params }))?;
        Ok(self.calls)
    }

    /// Sends a request; gives its result, or fails with the error that it is answered with.
    ///
    /// # Errors
    /// If there is no answer, or it is an error.
    pub fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.request(method, params)?;
        let mut response = self.wait(method, |message| message["id"] == id && message.get("method").is_none())?;
        if let Some(error) = response.body.get("error") {
            bail!("{method} was refused: {error}");
        }
        Ok(response.body["result"].take())
    }

    /// The first message that is wanted, among those that came and were not waited for yet, or the next that come.
    ///
    /// # Errors
    /// If none comes.
    pub fn wait(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Message> {
        if let Some(place) = self.unheard.iter().position(|message| wanted(&message.body)) {
            return self.unheard.remove(place).context("it is there");
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.read(left).with_context(|| self.never(what))?;
            if wanted(&message.body) {
                return Ok(message);
            }
            self.unheard.push_back(message);
        }
    }

    /// The next message, whatever it is.
    ///
    /// # Errors
    /// If none comes.
    pub fn message(&mut self) -> anyhow::Result<Message> {
        match self.unheard.pop_front() {
            Some(message) => Ok(message),
            None => self.read(PATIENCE).with_context(|| self.never("any message")),
        }
    }

    /// What came and was not waited for.
    pub fn unheard(&mut self) -> Vec<Message> {
        self.unheard.drain(..).collect()
    }

    /// No more is said. Gives how the program ended, and what came until then.
    ///
    /// # Errors
    /// If it does not end.
    pub fn close(mut self) -> anyhow::Result<(ExitStatus, Vec<Message>)> {
        drop(self.stdin.take());
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(message) => self.unheard.push_back(message),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => bail!(self.never("the end")),
            }
        }
        let status = self.child.wait()?;
        Ok((status, self.unheard.drain(..).collect()))
    }

    fn read(&mut self, patience: Duration) -> anyhow::Result<Message> {
        let message = match self.lines.recv_timeout(patience) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => bail!("it took too long"),
            Err(RecvTimeoutError::Disconnected) => bail!("it ended: {}", self.complaints()),
        };
        self.last.push_back(message.body.to_string().chars().take(500).collect());
        if self.last.len() > SHOWN {
            self.last.pop_front();
        }
        Ok(message)
    }

    fn complaints(&mut self) -> String {
        self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }

    fn never(&self, what: &str) -> String {
        let last: Vec<_> = self.last.iter().map(String::as_str).collect();
        format!("never: {what}; the last messages were\n{}", last.join("\n"))
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
