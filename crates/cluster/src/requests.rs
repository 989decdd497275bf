//! Requests from one process of the cluster to another, over the core of NATS: a subject per process, and one per node
//! for the process that serves it. Larger bodies are sent in parts, because servers limit the size of messages.

use std::{sync::Arc, time::Duration};

use async_nats::{HeaderMap, Message, StatusCode, Subject, Subscriber};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, future::BoxFuture, stream::select_all};
use thiserror::Error;
use tokio::{
    sync::Semaphore,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tracing::{debug, warn};

use crate::{
    event_stream::{EventStream, Unavailable},
    log::ClusterLog,
};

/// The maximum time of a request, longer than any operation takes.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The maximum size of a part. Servers accept messages of 1 MB by default.
const MAX_PART_BYTES: usize = 512 << 10;

/// The maximum size of a body: prompts have images, and pages of events are large.
const MAX_BODY_BYTES: usize = 64 << 20;

/// The maximum number of requests that are answered at the same time; further ones wait.
const MAX_CONCURRENT_REQUESTS: usize = 64;

/// The interval of attempts to subscribe.
const SUBSCRIBE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

const METHOD_HEADER: &str = "Switchboard-Method";
const PATH_HEADER: &str = "Switchboard-Path";
const STATUS_HEADER: &str = "Switchboard-Status";
const BYTES_HEADER: &str = "Switchboard-Bytes";
const UPLOAD_HEADER: &str = "Switchboard-Upload";

/// The receiver of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestTarget {
    /// The process with this owner number.
    Owner(u64),
    /// The process that serves the node with this name.
    Node(String),
}

/// A request, as in HTTP.
#[derive(Clone, Debug, Default)]
pub struct NodeRequest {
    /// The method.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// The body as JSON; empty if there is none.
    pub body: Bytes,
}

/// The response to a request.
#[derive(Clone, Debug, Default)]
pub struct NodeResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Bytes,
}

/// The reason why a request has no response.
#[derive(Clone, Debug, Error)]
pub enum RequestError {
    /// The process has ended or cannot reach NATS.
    #[error("it is not connected to NATS")]
    NoResponder,
    /// The process did not respond in time.
    #[error("it did not respond within {} s", REQUEST_TIMEOUT.as_secs())]
    TimedOut,
    /// NATS cannot be reached, or a message was lost.
    #[error("{0}")]
    Unavailable(String),
    /// The request is too large.
    #[error("the request has {0} bytes, and the maximum is {MAX_BODY_BYTES}")]
    TooLarge(usize),
}

impl From<Unavailable> for RequestError {
    fn from(error: Unavailable) -> Self {
        Self::Unavailable(error.0)
    }
}

/// The function that responds to requests of other processes.
pub type RequestHandler = Arc<dyn Fn(NodeRequest) -> BoxFuture<'static, NodeResponse> + Send + Sync>;

/// Responds to the requests of other processes until it is dropped.
pub struct RequestServer(JoinHandle<()>);

impl Drop for RequestServer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ClusterLog {
    /// Sends a request to another process and waits for the response.
    ///
    /// # Errors
    /// Fails at once if no process is there or NATS is away, and if the response does not arrive in time.
    pub async fn send_request(
        &self,
        target: &RequestTarget,
        request: NodeRequest,
    ) -> Result<NodeResponse, RequestError> {
        send_request(self.stream(), target, request).await
    }

    /// Responds to the requests of other processes, on the runtime of the caller. Only one process of a node should
    /// serve it.
    #[must_use]
    pub fn serve_requests(&self, serves_node: bool, handler: RequestHandler) -> RequestServer {
        let mut targets = vec![RequestTarget::Owner(self.owner_number())];
        if serves_node {
            targets.push(RequestTarget::Node(self.node_name()));
        }
        RequestServer(tokio::spawn(serve(self.stream().clone(), targets, handler)))
    }
}

/// Sends a request and waits for the response.
pub async fn send_request(
    stream: &EventStream,
    target: &RequestTarget,
    request: NodeRequest,
) -> Result<NodeResponse, RequestError> {
    if !stream.is_connected() {
        return Err(RequestError::Unavailable("NATS cannot be reached".to_owned()));
    }
    if request.body.len() > MAX_BODY_BYTES {
        return Err(RequestError::TooLarge(request.body.len()));
    }
    timeout(REQUEST_TIMEOUT, exchange(stream, target, request)).await.unwrap_or(Err(RequestError::TimedOut))
}

fn subject(stream: &EventStream, target: &RequestTarget) -> String {
    match target {
        RequestTarget::Owner(number) => format!("{}.request.owner.{number}", stream.prefix),
        RequestTarget::Node(name) => format!("{}.request.node.{name}", stream.prefix),
    }
}

async fn exchange(
    stream: &EventStream,
    target: &RequestTarget,
    request: NodeRequest,
) -> Result<NodeResponse, RequestError> {
    let inbox = stream.client.new_inbox();
    let mut replies = subscribe(stream, inbox.clone()).await?;
    let mut parts = split(&request.body);
    let mut headers = HeaderMap::new();
    headers.insert(METHOD_HEADER, request.method.as_str());
    headers.insert(PATH_HEADER, request.path.as_str());
    headers.insert(BYTES_HEADER, request.body.len().to_string().as_str());
    let first = parts.next().unwrap_or_default();
    let sent = stream.client.publish_with_reply_and_headers(subject(stream, target), inbox, headers, first).await;
    sent.map_err(|error| Unavailable(error.to_string()))?;
    let mut response = None;
    loop {
        let message = next_message(&mut replies).await?;
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            return Err(RequestError::NoResponder);
        }
        if let Some(upload) = header(&message, UPLOAD_HEADER) {
            for part in parts.by_ref() {
                let sent = stream.client.publish(upload.to_owned(), part).await;
                sent.map_err(|error| Unavailable(error.to_string()))?;
            }
            continue;
        }
        let (status, mut body) = match response.take() {
            Some(incomplete) => incomplete,
            None => {
                let status = header(&message, STATUS_HEADER).and_then(|status| status.parse::<u16>().ok());
                let status = status.ok_or_else(|| Unavailable("the response has no status".to_owned()))?;
                (status, IncompleteBody::new(&message)?)
            }
        };
        body.push(&message.payload)?;
        match body.finish() {
            Ok(body) => return Ok(NodeResponse { status, body }),
            Err(incomplete) => response = Some((status, incomplete)),
        }
    }
}

async fn serve(stream: EventStream, targets: Vec<RequestTarget>, handler: RequestHandler) {
    let slots = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    loop {
        let mut subscriptions = Vec::new();
        for target in &targets {
            match subscribe(&stream, subject(&stream, target)).await {
                Ok(subscription) => subscriptions.push(subscription),
                Err(error) => debug!(error = error.0, "requests of other nodes cannot be received"),
            }
        }
        if subscriptions.len() == targets.len() {
            let mut requests = select_all(subscriptions);
            while let Some(message) = requests.next().await {
                let Ok(slot) = slots.clone().acquire_owned().await else { return };
                let (stream, handler) = (stream.clone(), handler.clone());
                tokio::spawn(async move {
                    if let Err(error) = respond(&stream, message, handler).await {
                        warn!(error = error.0, "a request of another node was not answered");
                    }
                    drop(slot);
                });
            }
        }
        sleep(SUBSCRIBE_RETRY_INTERVAL).await;
    }
}

async fn respond(stream: &EventStream, message: Message, handler: RequestHandler) -> Result<(), Unavailable> {
    let Some(inbox) = message.reply.clone() else { return Ok(()) };
    let request = match timeout(REQUEST_TIMEOUT, receive(stream, &message, &inbox)).await {
        Ok(request) => request?,
        Err(_) => return Err(Unavailable("its body did not arrive".to_owned())),
    };
    let NodeResponse { status, body } = handler(request).await;
    let mut headers = HeaderMap::new();
    headers.insert(STATUS_HEADER, status.to_string().as_str());
    headers.insert(BYTES_HEADER, body.len().to_string().as_str());
    for part in split(&body) {
        let sent = stream.client.publish_with_headers(inbox.clone(), headers.clone(), part).await;
        sent.map_err(|error| Unavailable(error.to_string()))?;
    }
    Ok(())
}

/// Receives all parts of a request.
async fn receive(stream: &EventStream, message: &Message, inbox: &Subject) -> Result<NodeRequest, Unavailable> {
    let mut body = IncompleteBody::new(message)?;
    body.push(&message.payload)?;
    let text = |name| header(message, name).unwrap_or_default().to_owned();
    let (method, path) = (text(METHOD_HEADER), text(PATH_HEADER));
    let mut incomplete = match body.finish() {
        Ok(body) => return Ok(NodeRequest { method, path, body }),
        Err(incomplete) => incomplete,
    };
    let upload = stream.client.new_inbox();
    let mut parts = subscribe(stream, upload.clone()).await?;
    let mut headers = HeaderMap::new();
    headers.insert(UPLOAD_HEADER, upload.as_str());
    let sent = stream.client.publish_with_headers(inbox.clone(), headers, Bytes::new()).await;
    sent.map_err(|error| Unavailable(error.to_string()))?;
    loop {
        incomplete.push(&next_message(&mut parts).await?.payload)?;
        incomplete = match incomplete.finish() {
            Ok(body) => return Ok(NodeRequest { method, path, body }),
            Err(incomplete) => incomplete,
        };
    }
}

async fn subscribe(stream: &EventStream, subject: String) -> Result<Subscriber, Unavailable> {
    stream.client.subscribe(subject).await.map_err(|error| Unavailable(error.to_string()))
}

async fn next_message(messages: &mut Subscriber) -> Result<Message, Unavailable> {
    messages.next().await.ok_or_else(|| Unavailable("the connection was closed".to_owned()))
}

fn header<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    message.headers.as_ref()?.get(name).map(|value| value.as_str())
}

/// Splits a body into parts; an empty one has one part.
fn split(body: &Bytes) -> impl Iterator<Item = Bytes> + use<> {
    let body = body.clone();
    let parts = body.len().div_ceil(MAX_PART_BYTES).max(1);
    (0..parts).map(move |part| {
        let start = part * MAX_PART_BYTES;
        body.slice(start..body.len().min(start + MAX_PART_BYTES))
    })
}

/// A body of which parts may be missing. Parts arrive in order.
struct IncompleteBody {
    received: BytesMut,
    size: usize,
}

impl IncompleteBody {
    fn new(first: &Message) -> Result<Self, Unavailable> {
        let size = header(first, BYTES_HEADER).and_then(|size| size.parse().ok());
        let size = size.filter(|size| *size <= MAX_BODY_BYTES);
        let size = size.ok_or_else(|| Unavailable("a message has no valid size".to_owned()))?;
        Ok(Self { received: BytesMut::new(), size })
    }

    fn push(&mut self, part: &[u8]) -> Result<(), Unavailable> {
        self.received.extend_from_slice(part);
        let is_too_long = self.received.len() > self.size;
        if is_too_long { Err(Unavailable("a message is longer than announced".to_owned())) } else { Ok(()) }
    }

    fn finish(self) -> Result<Bytes, Self> {
        if self.received.len() == self.size { Ok(self.received.freeze()) } else { Err(self) }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{MAX_PART_BYTES, split};

    #[test]
    fn parts_make_up_the_body() {
        for size in [0, 1, MAX_PART_BYTES, MAX_PART_BYTES + 1, 3 * MAX_PART_BYTES] {
            let body = Bytes::from(vec![7; size]);
            let parts: Vec<_> = split(&body).collect();
            assert_eq!(parts.len(), size.div_ceil(MAX_PART_BYTES).max(1));
            assert_eq!(parts.concat(), body);
        }
    }
}
