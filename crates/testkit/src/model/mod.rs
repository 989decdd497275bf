//! A scripted model: a server on loopback with the APIs that coding agents use, so that the real programs run without a
//! key and without a network. The prompt contains the answer, in the small language of [`script`].
//!
//! ```text
//! Model::start()  ─►  http://127.0.0.1:PORT   one address for all APIs, distinguished by path
//! prompt "[[think hm]] [[tool shell {"command":"ls"}]]"  ─►  a thought, a text, a call; then "Done: <result>"
//! model.requests()                            the requests and their answers
//! ```
//!
//! Each API has a file (`anthropic`, `google`, and `openai` for two) that parses requests and formats answers.
//! Everything else is shared. The model considers only the user's latest text and the results of the tools that it
//! called.

mod answer;
mod anthropic;
mod api;
mod conversation;
mod exchange;
mod google;
mod openai;
pub mod script;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr, TcpListener as Bound};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::Context as _;
use exchange::ModelService;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::{Condvar, Mutex};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::oneshot;

pub use answer::{AnswerEnd, AnswerPiece, AnswerTextChunk, ModelAnswer, ModelUsage};
pub use conversation::SideRequest;
pub use exchange::UNKNOWN_MODEL;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A running scripted model. It stops on drop.
pub struct ScriptedModel {
    address: SocketAddr,
    desk: Arc<ModelService>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    /// Starts on a free port of loopback.
    pub fn start() -> io::Result<Self> {
        Self::start_on_port(0)
    }

    /// Starts on a port of loopback.
    pub fn start_on_port(port: u16) -> io::Result<Self> {
        Self::start_on((Ipv4Addr::LOCALHOST, port).into())
    }

    /// Starts at an address; port 0 selects a free one.
    pub fn start_on(address: SocketAddr) -> io::Result<Self> {
        let bound = Bound::bind(address)?;
        bound.set_nonblocking(true)?;
        let address = bound.local_addr()?;
        let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let desk = Arc::new(ModelService::default());
        let serving = Arc::clone(&desk);
        let serve = move || {
            runtime.block_on(async {
                tokio::select! { () = accept_connections(bound, serving) => {}, _ = stopped => {} }
            })
        };
        let thread = thread::Builder::new().name("scripted model".to_owned()).spawn(serve)?;
        Ok(Self { address, desk, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the base URL of all APIs, such as `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    #[must_use]
    pub fn all_requests(&self) -> Vec<RecordedModelRequest> {
        self.desk.book.all_requests()
    }

    /// Returns the requests of the conversation, without titles, summaries and the like.
    #[must_use]
    pub fn conversation_requests(&self) -> Vec<RecordedModelRequest> {
        self.all_requests().into_iter().filter(RecordedModelRequest::is_conversation).collect()
    }

    /// Waits for a matching request. Fails after a minute with `what` in the message.
    pub fn wait_for_request(
        &self,
        what: &str,
        wanted: impl Fn(&RecordedModelRequest) -> bool,
    ) -> anyhow::Result<RecordedModelRequest> {
        self.desk.book.wait_for_request(REQUEST_TIMEOUT, wanted).with_context(|| format!("the model never saw {what}"))
    }

    /// Waits for request number `count`, from 0; `None` after a minute.
    #[must_use]
    pub fn wait_for_nth(&self, count: usize) -> Option<RecordedModelRequest> {
        self.desk.book.wait_for_nth(REQUEST_TIMEOUT, count)
    }

    /// Releases one answer that waits at `[[hold]]`, now or later.
    pub fn release_hold(&self) {
        self.desk.gates.add_permits(1);
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn accept_connections(bound: Bound, desk: Arc<ModelService>) {
    let Ok(listener) = TcpListener::from_std(bound) else { return };
    loop {
        if let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve_connection(socket, Arc::clone(&desk)));
        }
    }
}

/// Serves one connection. Client and script decide how it ends.
async fn serve_connection(socket: TcpStream, desk: Arc<ModelService>) {
    drop(socket.set_nodelay(true));
    let answer = service_fn(|request| desk.answer_request(request));
    drop(http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await);
}

#[derive(Default)]
struct ModelRequestLog {
    requests: Mutex<Vec<RecordedModelRequest>>,
    written: Condvar,
    numbers: AtomicU64,
}

impl ModelRequestLog {
    fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn all_requests(&self) -> Vec<RecordedModelRequest> {
        self.requests.lock().clone()
    }

    /// Appends a request and returns its index.
    fn push_request(&self, request: RecordedModelRequest) -> usize {
        let mut requests = self.requests.lock();
        requests.push(request);
        self.written.notify_all();
        requests.len() - 1
    }

    /// Marks a request whose client disconnected before the end.
    fn mark_abandoned(&self, place: usize) {
        if let Some(request) = self.requests.lock().get_mut(place) {
            request.abandoned = true;
        }
        self.written.notify_all();
    }

    /// Returns how often this point of a conversation was answered with an error.
    fn count_failures(&self, prompt: &str, step: usize) -> usize {
        let failed = |request: &&RecordedModelRequest| {
            request.prompt == prompt && request.step == step && request.answer.is_none()
        };
        self.requests.lock().iter().filter(failed).count()
    }

    /// Waits for the first matching request.
    pub fn wait_for_request(
        &self,
        patience: Duration,
        wanted: impl Fn(&RecordedModelRequest) -> bool,
    ) -> Option<RecordedModelRequest> {
        self.wait_until(patience, |requests| requests.iter().find(|request| wanted(request)))
    }

    /// Waits for the request with an index.
    pub fn wait_for_nth(&self, patience: Duration, place: usize) -> Option<RecordedModelRequest> {
        self.wait_until(patience, |requests| requests.get(place))
    }

    fn wait_until(
        &self,
        patience: Duration,
        find: impl Fn(&[RecordedModelRequest]) -> Option<&RecordedModelRequest>,
    ) -> Option<RecordedModelRequest> {
        let end = Instant::now() + patience;
        let mut requests = self.requests.lock();
        loop {
            if let Some(request) = find(&requests) {
                return Some(request.clone());
            }
            let left = end.checked_duration_since(Instant::now())?;
            self.written.wait_for(&mut requests, left);
        }
    }
}

#[derive(Clone, Debug)]
pub struct RecordedModelRequest {
    /// The API, by the name of its file.
    pub api: &'static str,
    /// The path with its query.
    pub path: String,
    /// Headers with lower-case names.
    pub headers: Vec<(String, String)>,
    pub model: String,
    /// The agent's instructions.
    pub system: String,
    pub tools: Vec<String>,
    pub images: usize,
    /// The user's latest text.
    pub prompt: String,
    /// Number of tool rounds since then.
    pub step: usize,
    /// The last tool results, shortened.
    pub results: Vec<String>,
    /// The purpose, if it is not the conversation.
    pub side: Option<SideRequest>,
    pub body: Value,
    /// The answer, or `None` if it was an error.
    pub answer: Option<ModelAnswer>,
    /// The client disconnected before the end of the answer.
    pub abandoned: bool,
}

impl RecordedModelRequest {
    #[must_use]
    pub fn is_conversation(&self) -> bool {
        self.side.is_none()
    }

    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
