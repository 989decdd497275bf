//! The link to an agent: its process and its server, or nothing at all for one that is built in. What comes is put
//! in one line, whatever way it comes; what goes never makes the session wait.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use serde_json::value::RawValue;
use switchboard_agents::{Feed, HttpRequest};
use switchboard_client::{
    AgentError, Reconnect, Route,
    http::{Client, SseEvent},
    lines,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe,
    sync::mpsc,
    task::JoinSet,
};

use crate::supervise::{Control, Exit, Running, Signal};

/// Something that came.
pub enum Arrival {
    /// The agent said this much.
    Stdout(Bytes),
    /// The agent will say no more.
    StdoutEnd,
    /// The agent said this beside.
    Stderr(Bytes),
    /// The agent will say no more beside.
    StderrEnd,
    /// The agent's process ended.
    Exited(Exit),
    /// The agent's server answered, or did not.
    Answer(HttpRequest, Result<(u16, Bytes), String>),
    /// The agent's server said something.
    Stream(SseEvent),
    /// The session that is followed on a server said something.
    Message(String),
    /// The session that is followed on a server has ended, or cannot be followed any more.
    MessagesEnd(Result<(), AgentError>),
}

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// How much may wait for the session: then the agent waits, too.
const WAITING: usize = 8;

/// Between two tries to open a stream.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The link to an agent.
pub struct Link {
    control: Option<Control>,
    /// What is to be written. Without a bound: an agent that does not read would otherwise stop us from reading it.
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
    server: Option<Client>,
    arrivals: mpsc::Sender<Arrival>,
    tasks: JoinSet<()>,
}

impl Link {
    /// A link to nothing yet, and where arrivals come.
    pub fn new() -> (Self, mpsc::Receiver<Arrival>) {
        let (arrivals, inbox) = mpsc::channel(WAITING);
        (Self { control: None, input: None, server: None, arrivals, tasks: JoinSet::new() }, inbox)
    }

    /// Links a process.
    pub fn attach(&mut self, running: Running) {
        let Running { stdin, stdout, stderr, control, .. } = running;
        self.input = stdin.map(|stdin| {
            let (input, lines) = mpsc::unbounded_channel();
            self.tasks.spawn(write(stdin, lines));
            input
        });
        self.tasks.spawn(read(stdout, self.arrivals.clone(), Arrival::Stdout, Arrival::StdoutEnd));
        self.tasks.spawn(read(stderr, self.arrivals.clone(), Arrival::Stderr, Arrival::StderrEnd));
        let (exit, arrivals) = (control.exit(), self.arrivals.clone());
        self.tasks.spawn(async move {
            // If nobody takes it, the session is over.
            drop(arrivals.send(Arrival::Exited(exit.await)).await);
        });
        self.control = Some(control);
    }

    /// Writes a record to the agent.
    pub fn send(&self, record: &RawValue) {
        if let Some(input) = &self.input {
            let mut line = record.get().as_bytes().to_vec();
            line.push(b'\n');
            // An agent that is gone says so itself.
            drop(input.send(line));
        }
    }

    /// Writes text to the agent as it is.
    pub fn send_text(&self, text: &str) {
        if let Some(input) = &self.input {
            drop(input.send(text.as_bytes().to_vec()));
        }
    }

    /// Closes the agent's input, once all is written.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Where the agent's server is.
    pub fn connect(&mut self, server: Client) {
        self.server = Some(server);
    }

    /// Makes a request to the agent's server.
    pub fn request(&mut self, request: HttpRequest) {
        let (server, arrivals) = (self.server.clone(), self.arrivals.clone());
        self.tasks.spawn(async move {
            let body = request.body.as_ref().map(|body| Bytes::copy_from_slice(body.get().as_bytes()));
            let answer = match server {
                Some(server) => server.request(request.method, &request.path, body).await.map_err(|e| e.to_string()),
                None => Err("the agent's server is not known yet".to_owned()),
            };
            drop(arrivals.send(Arrival::Answer(request, answer)).await);
        });
    }

    /// Follows a stream of the agent's server, and opens it again when it breaks.
    pub fn listen(&mut self, path: String) {
        if let Some(server) = self.server.clone() {
            self.tasks.spawn(listen(server, path, self.arrivals.clone()));
        }
    }

    /// Follows a session of the agent's server to its end.
    pub fn follow(&mut self, feed: Feed, offset: u64) {
        let Some(server) = self.server.clone() else { return };
        let route = Route { socket: feed.socket, pages: feed.pages, state: feed.state };
        let (mut messages, arrivals) = (lines(server, route, offset, Reconnect::default()), self.arrivals.clone());
        self.tasks.spawn(async move {
            let mut end = Ok(());
            while let Some(message) = messages.next().await {
                let arrival = match message {
                    Ok(message) => Arrival::Message(message),
                    Err(error) => {
                        end = Err(error);
                        break;
                    }
                };
                if arrivals.send(arrival).await.is_err() {
                    return;
                }
            }
            drop(arrivals.send(Arrival::MessagesEnd(end)).await);
        });
    }

    /// Sends the agent's process group a signal.
    pub fn signal(&self, signal: Signal) {
        if let Some(control) = &self.control {
            control.signal(signal);
        }
    }

    /// Ends the agent: asks first, and kills what is left after the grace.
    pub fn stop(&self, grace: Duration) {
        if let Some(control) = &self.control {
            control.stop(grace);
        }
    }

    /// There is a process.
    pub fn is_process(&self) -> bool {
        self.control.is_some()
    }

    /// Waits until nothing is left of the process.
    pub async fn gone(&self) {
        if let Some(control) = &self.control {
            control.gone().await;
        }
    }
}

async fn listen(server: Client, path: String, arrivals: mpsc::Sender<Arrival>) {
    let mut pause = SHORTEST_PAUSE;
    loop {
        let (out, mut events) = mpsc::channel(WAITING);
        server.listen(&path, out);
        while let Some(event) = events.recv().await {
            if event == SseEvent::Opened {
                pause = SHORTEST_PAUSE;
            }
            if arrivals.send(Arrival::Stream(event)).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn write(mut stdin: pipe::Sender, mut lines: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn read(
    mut from: impl AsyncRead + Unpin,
    to: mpsc::Sender<Arrival>,
    arrival: fn(Bytes) -> Arrival,
    end: Arrival,
) {
    let mut buffer = BytesMut::new();
    loop {
        // What was handed on and is done with is used again.
        buffer.reserve(CHUNK);
        match from.read_buf(&mut buffer).await {
            Ok(length) if length > 0 => {
                if to.send(arrival(buffer.split().freeze())).await.is_err() {
                    return;
                }
            }
            _ => break,
        }
    }
    // If nobody takes it, the session is over.
    drop(to.send(end).await);
}
