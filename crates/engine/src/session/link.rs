//! The link to an agent: its process and its server, or neither for a built-in agent. Everything from the agent goes
//! through one queue; sending never makes the session wait.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use serde_json::value::RawValue;
use switchboard_agents::{HttpRequest, SessionFeedPaths};
use switchboard_client::{
    AgentError, FeedRoute, ReconnectPolicy, follow_lines,
    http::{HttpClient, SseEvent},
};
use switchboard_event::Id;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe,
    sync::{mpsc, oneshot},
    task::{JoinSet, spawn_blocking},
};
use tracing::debug;

use crate::{
    mask::SecretMask,
    network::{NetworkEvent, NetworkPlan, ProjectGrants, SharedRules},
    supervise::{AgentControl, ProcessExit, RunningAgent, SessionConnector, SessionNetwork, StopSignal},
};

const READ_BYTES: usize = 64 << 10;

/// The number of events that may wait for the session. Beyond it, the agent waits, too.
const MAX_QUEUED_EVENTS: usize = 8;

/// The delay between two attempts to open a stream.
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(50);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(2);

/// The number of lines of standard error that are kept for an error message.
const STDERR_TAIL_LINES: usize = 12;

/// The maximum length of a line of standard error. The rest is dropped.
const MAX_STDERR_LINE_BYTES: usize = 4 << 10;

pub enum LinkEvent {
    Stdout(Bytes),
    StdoutClosed,
    Stderr(Bytes),
    StderrClosed,
    /// The agent's process ended.
    Exited(ProcessExit),
    /// The agent's server answered a request, or the request failed.
    HttpAnswer(HttpRequest, Result<(u16, Bytes), String>),
    /// An event on a stream of the agent's server.
    Stream(SseEvent),
    /// A message of the session that is followed on a server.
    Message(String),
    /// The session that is followed on a server has ended, or can no longer be followed.
    MessagesEnded(Result<(), AgentError>),
    /// A program in the sandbox tries to connect to a host.
    Network(NetworkEvent),
    /// A program no longer waits for the connection of this request.
    ConnectionAbandoned(Id),
    /// A host could not be allowed permanently.
    GrantNotStored {
        host: String,
        port: u16,
        error: String,
    },
}

pub enum OutgoingMessage {
    Record(Box<RawValue>),
    Request(HttpRequest),
    CloseInput,
}

pub struct AgentLink {
    control: Option<AgentControl>,
    /// The lines to write. Unbounded: otherwise an agent that does not read would keep the session from reading.
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
    server: Option<HttpClient>,
    /// Connects to servers inside of a session with an isolated network.
    inside: Option<SessionConnector>,
    events: mpsc::Sender<LinkEvent>,
    tasks: JoinSet<()>,
    backlog: Arc<LinkBacklog>,
}

/// What the agent has not taken yet, for diagnostics.
#[derive(Debug, Default)]
pub struct LinkBacklog {
    unwritten_lines: AtomicUsize,
    /// Requests to the agent's server without an answer.
    http_requests: AtomicUsize,
}

impl AgentLink {
    /// Returns an unconnected link and the receiver of its events.
    pub fn new() -> (Self, mpsc::Receiver<LinkEvent>) {
        let (events, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
        let (tasks, backlog) = (JoinSet::new(), Arc::default());
        (Self { control: None, input: None, server: None, inside: None, events, tasks, backlog }, receiver)
    }

    pub fn attach(&mut self, running: RunningAgent) {
        let RunningAgent { stdin, stdout, stderr, control, .. } = running;
        self.input = stdin.map(|stdin| {
            let (input, lines) = mpsc::unbounded_channel();
            self.tasks.spawn(write_lines(stdin, lines, self.backlog.clone()));
            input
        });
        self.tasks.spawn(read_pipe(stdout, self.events.clone(), LinkEvent::Stdout, LinkEvent::StdoutClosed));
        self.tasks.spawn(read_pipe(stderr, self.events.clone(), LinkEvent::Stderr, LinkEvent::StderrClosed));
        let (exit, events) = (control.exit(), self.events.clone());
        self.tasks.spawn(async move {
            // Without a receiver, the session is over.
            drop(events.send(LinkEvent::Exited(exit.await)).await);
        });
        self.control = Some(control);
    }

    /// Serves the network of a confined session. Returns its host rules.
    pub fn serve_network(&mut self, network: SessionNetwork, plan: NetworkPlan) -> SharedRules {
        self.inside = Some(network.connector.clone());
        let (network_events, mut receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
        let events = self.events.clone();
        self.tasks.spawn(async move {
            while let Some(event) = receiver.recv().await {
                if events.send(LinkEvent::Network(event)).await.is_err() {
                    return;
                }
            }
        });
        plan.serve(network, network_events, &mut self.tasks)
    }

    /// Reports when a program no longer waits for its connection.
    pub fn report_abandoned(&mut self, request: Id, abandoned: impl Future<Output = ()> + Send + 'static) {
        let events = self.events.clone();
        self.reap_finished_tasks();
        self.tasks.spawn(async move {
            abandoned.await;
            drop(events.send(LinkEvent::ConnectionAbandoned(request)).await);
        });
    }

    /// Stores that a host is permanently allowed, and then lets the connections that wait for it proceed.
    pub fn store_grant(&mut self, grants: ProjectGrants, host: String, port: u16, replies: Vec<oneshot::Sender<bool>>) {
        let events = self.events.clone();
        self.tasks.spawn(async move {
            let stored = {
                let host = host.clone();
                spawn_blocking(move || grants.add(&host, port))
                    .await
                    .unwrap_or_else(|error| Err(io::Error::other(error)))
            };
            for reply in replies {
                reply.send(true).ok();
            }
            if let Err(error) = stored {
                let error = error.to_string();
                drop(events.send(LinkEvent::GrantNotStored { host, port, error }).await);
            }
        });
    }

    /// Frees the memory of tasks that have ended.
    fn reap_finished_tasks(&mut self) {
        while self.tasks.try_join_next().is_some() {}
    }

    pub fn send(&mut self, message: OutgoingMessage) {
        match message {
            OutgoingMessage::Record(record) => self.write(format!("{}\n", record.get())),
            OutgoingMessage::Request(request) => self.send_request(request),
            OutgoingMessage::CloseInput => self.close_input(),
        }
    }

    pub fn write(&self, text: impl Into<Vec<u8>>) {
        if let Some(input) = &self.input {
            self.backlog.unwritten_lines.fetch_add(1, Ordering::Relaxed);
            // The exit of an agent is reported separately.
            drop(input.send(text.into()));
        }
    }

    /// Closes the agent's input once everything is written.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    pub fn set_server(&mut self, server: HttpClient) {
        let inside = self.inside.clone().filter(|_| server.address().is_loopback());
        self.server = Some(match inside {
            Some(inside) => server.with_connector(Arc::new(inside)),
            None => server,
        });
    }

    fn send_request(&mut self, request: HttpRequest) {
        let (server, events, backlog) = (self.server.clone(), self.events.clone(), self.backlog.clone());
        backlog.http_requests.fetch_add(1, Ordering::Relaxed);
        self.reap_finished_tasks();
        self.tasks.spawn(async move {
            let body = request.body.as_ref().map(|body| Bytes::copy_from_slice(body.get().as_bytes()));
            let answer = match server {
                Some(server) => server.request(request.method, &request.path, body).await.map_err(|e| e.to_string()),
                None => Err("the agent's server is not known yet".to_owned()),
            };
            backlog.http_requests.fetch_sub(1, Ordering::Relaxed);
            drop(events.send(LinkEvent::HttpAnswer(request, answer)).await);
        });
    }

    /// Follows a stream of the agent's server, and reopens it when it breaks.
    pub fn follow_stream(&mut self, path: String) {
        if let Some(server) = self.server.clone() {
            self.tasks.spawn(follow_stream(server, path, self.events.clone()));
        }
    }

    /// Follows a session of the agent's server to its end.
    pub fn follow_session(&mut self, feed: SessionFeedPaths, offset: u64) {
        let Some(server) = self.server.clone() else { return };
        let route = FeedRoute { socket: feed.socket, pages: feed.pages, state: feed.state };
        let mut messages = follow_lines(server, route, offset, ReconnectPolicy::default());
        let events = self.events.clone();
        self.tasks.spawn(async move {
            let mut end = Ok(());
            while let Some(message) = messages.next().await {
                match message {
                    Ok(message) => {
                        if events.send(LinkEvent::Message(message)).await.is_err() {
                            return;
                        }
                    }
                    Err(error) => {
                        end = Err(error);
                        break;
                    }
                }
            }
            drop(events.send(LinkEvent::MessagesEnded(end)).await);
        });
    }

    /// Sends the agent's process group a signal.
    pub fn signal(&self, signal: StopSignal) {
        if let Some(control) = &self.control {
            control.signal(signal);
        }
    }

    /// Asks the agent to end, and kills the remaining processes after the grace period.
    pub fn stop(&self, grace: Duration) {
        if let Some(control) = &self.control {
            control.stop(grace);
        }
    }

    pub fn backlog(&self) -> &LinkBacklog {
        &self.backlog
    }

    pub fn has_process(&self) -> bool {
        self.control.is_some()
    }

    /// Waits until the process and all its descendants have ended.
    pub async fn wait_until_gone(&self) {
        if let Some(control) = &self.control {
            control.wait_until_gone().await;
        }
    }
}

async fn follow_stream(server: HttpClient, path: String, events: mpsc::Sender<LinkEvent>) {
    let mut delay = MIN_RECONNECT_DELAY;
    loop {
        let (sender, mut stream) = mpsc::channel(MAX_QUEUED_EVENTS);
        server.subscribe_sse(&path, sender);
        while let Some(event) = stream.recv().await {
            if event == SseEvent::Opened {
                delay = MIN_RECONNECT_DELAY;
            }
            if events.send(LinkEvent::Stream(event)).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(MAX_RECONNECT_DELAY);
    }
}

async fn write_lines(mut stdin: pipe::Sender, mut lines: mpsc::UnboundedReceiver<Vec<u8>>, backlog: Arc<LinkBacklog>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() {
            debug!("standard input closed by the agent");
            return;
        }
        backlog.unwritten_lines.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn read_pipe(
    mut pipe: impl AsyncRead + Unpin,
    events: mpsc::Sender<LinkEvent>,
    to_event: fn(Bytes) -> LinkEvent,
    closed: LinkEvent,
) {
    let mut buffer = BytesMut::new();
    loop {
        // Reuses memory of chunks that were dropped.
        buffer.reserve(READ_BYTES);
        match pipe.read_buf(&mut buffer).await {
            Ok(length) if length > 0 => {
                if events.send(to_event(buffer.split().freeze())).await.is_err() {
                    return;
                }
            }
            _ => break,
        }
    }
    // Without a receiver, the session is over.
    drop(events.send(closed).await);
}

/// Splits the bytes of standard error into lines, and keeps the last ones in case the agent dies.
pub struct StderrLines {
    mask: SecretMask,
    partial: Vec<u8>,
    tail: VecDeque<String>,
}

impl StderrLines {
    pub fn new(mask: SecretMask) -> Self {
        Self { mask, partial: Vec::new(), tail: VecDeque::new() }
    }

    /// Adds bytes and returns the lines that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for byte in bytes {
            if *byte == b'\n' {
                lines.extend(self.finish());
            } else if self.partial.len() < MAX_STDERR_LINE_BYTES + self.mask.max_secret_len() {
                self.partial.push(*byte);
            }
        }
        lines
    }

    /// Completes the current line, and returns it unless it is empty.
    pub fn finish(&mut self) -> Option<String> {
        let bytes = std::mem::take(&mut self.partial);
        // Truncated after masking: half a secret is not recognized.
        let masked = self.mask.mask_bytes(&bytes);
        let line = masked.get(..MAX_STDERR_LINE_BYTES).unwrap_or(&masked);
        let line = String::from_utf8_lossy(line).trim_end().to_owned();
        if line.is_empty() {
            return None;
        }
        if self.tail.len() == STDERR_TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line.clone());
        Some(line)
    }

    pub fn tail(&self) -> String {
        self.tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::Id;

    use super::AgentLink;

    #[tokio::test]
    async fn finished_tasks_are_freed() {
        let (mut link, mut events) = AgentLink::new();
        for _ in 0..1000 {
            link.report_abandoned(Id::from("request"), async {});
            events.recv().await;
            tokio::task::yield_now().await;
        }
        assert!(link.tasks.len() <= 2, "{}", link.tasks.len());
    }
}
