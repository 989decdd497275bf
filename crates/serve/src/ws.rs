//! Sessions over WebSocket.
//!
//! Messages of the dialect are sent as they are. A client may send commands, and gets a response to each, of the type
//! `reply` or `pong`, which no dialect has.

use std::{future::poll_fn, time::Duration};

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use bytes::Bytes;
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_client::ApprovalAnswer;
use switchboard_event::SettingsForm;
use tokio::{
    sync::{Mutex, mpsc},
    time::{Instant, sleep_until, timeout},
};

use crate::{
    Drain, Problem, Service,
    extract::{RequestBody, parse_body, parse_json, without_settings},
    feed::{MessageSlice, SessionReader},
    guard::Caller,
    requests::PromptRequest,
};

/// The maximum size of a client's message: a prompt with images.
const MAX_MESSAGE_BYTES: usize = crate::requests::MAX_BODY_BYTES;

/// The read buffer of a connection; most clients send little.
const READ_BUFFER_BYTES: usize = 8 << 10;

/// The write buffer of a connection, which a client that does not read keeps allocated.
const WRITE_BUFFER_BYTES: usize = 16 << 10;

/// The time without messages after which a ping detects a client that has disappeared.
pub const PING_INTERVAL: Duration = Duration::from_secs(30);

/// How long a client may take to close the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of responses queued for a client that does not read.
pub const MAX_QUEUED_REPLIES: usize = 16;

/// The maximum number of pings answered on a connection: one per second for a day.
const MAX_PINGS: u32 = 86_400;

pub enum CloseReason {
    Ended,
    Deleted,
    Shutdown,
    Failed(String),
    /// The client has disconnected.
    Gone,
}

pub struct SocketClient {
    pub service: Service,
    pub session: String,
    /// The client, unless access is not restricted.
    pub caller: Option<Caller>,
}

/// Limits the memory of a connection.
pub fn limit_memory(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
}

/// Serves a session to one client until the session ends or either side disconnects.
pub async fn serve_session(socket: WebSocket, reader: SessionReader, client: SocketClient, drain: Drain) {
    let (mut sink, stream) = socket.split();
    let mut receiver = SocketReceiver::new(stream);
    let (replies, mut inbox) = mpsc::channel(MAX_QUEUED_REPLIES);
    let command_lock = Mutex::new(());
    let reason = {
        let receiving = receive_commands(&mut receiver, &client, replies, &command_lock);
        tokio::pin!(receiving);
        let reason = tokio::select! {
            reason = send_messages(&mut sink, reader, &mut inbox) => reason,
            () = &mut receiving => CloseReason::Gone,
            () = drain.wait_until_begun() => CloseReason::Shutdown,
        };
        if matches!(reason, CloseReason::Ended | CloseReason::Shutdown) {
            // A command in progress is completed and answered.
            let answered = async {
                tokio::select! {
                    () = receiving => {}
                    _ = command_lock.lock() => {}
                }
                while let Ok(reply) = inbox.try_recv() {
                    sink.send(Message::Text(reply.into())).await?;
                }
                Ok::<_, axum::Error>(())
            };
            // A client that does not read its response is not waited for.
            timeout(CLOSE_TIMEOUT, answered).await.ok();
        }
        reason
    };
    close_socket(sink, receiver, reason).await;
}

/// The outgoing side of a WebSocket.
pub type SocketSink = SplitSink<WebSocket, Message>;

/// The incoming side of a WebSocket.
pub struct SocketReceiver {
    stream: SplitStream<WebSocket>,
    pings: u32,
}

impl SocketReceiver {
    pub fn new(stream: SplitStream<WebSocket>) -> Self {
        Self { stream, pings: 0 }
    }

    /// Returns the next message of the client; `None` when it disconnects. Also ends after too many pings, since the
    /// responses would accumulate for a client that does not read.
    pub async fn next(&mut self) -> Option<Bytes> {
        while let Some(Ok(message)) = self.stream.next().await {
            match message {
                Message::Text(text) => return Some(text.into()),
                Message::Binary(bytes) => return Some(bytes),
                Message::Ping(_) if self.pings > MAX_PINGS => return None,
                Message::Ping(_) => self.pings += 1,
                Message::Pong(_) => {}
                Message::Close(_) => return None,
            }
        }
        None
    }
}

/// Returns a message with JSON that Switchboard wrote, which is valid UTF-8.
pub fn text_message(json: Bytes) -> Message {
    Message::Text(Utf8Bytes::try_from(json).unwrap_or_default())
}

/// Closes a connection so that everything sent arrives.
pub async fn close_socket(mut sink: SocketSink, mut receiver: SocketReceiver, reason: CloseReason) {
    let Some(frame) = reason.frame() else {
        // Completes the client's close handshake, or reports its protocol error.
        timeout(CLOSE_TIMEOUT, sink.close()).await.ok();
        return;
    };
    let close = async {
        if sink.send(Message::Close(Some(frame))).await.is_ok() {
            // Closing with unread data would discard what the client has not received yet.
            while let Some(Ok(_)) = receiver.stream.next().await {}
        }
    };
    // A client that does not respond is not waited for.
    timeout(CLOSE_TIMEOUT, close).await.ok();
}

impl CloseReason {
    fn frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Gone => return None,
            Self::Ended => (1000, "session ended".to_owned()),
            Self::Deleted => (1000, "session deleted".to_owned()),
            Self::Shutdown => (1001, Drain::REASON.to_owned()),
            Self::Failed(reason) => (1011, reason),
        };
        // The maximum size of a close frame is 125 bytes.
        let reason: String = reason.chars().take(100).filter(char::is_ascii).collect();
        Some(CloseFrame { code, reason: Utf8Bytes::from(reason) })
    }
}

/// Sends messages of the session and responses to commands.
async fn send_messages(
    sink: &mut SocketSink,
    mut reader: SessionReader,
    replies: &mut mpsc::Receiver<String>,
) -> CloseReason {
    loop {
        let quiet = sleep_until(Instant::now() + PING_INTERVAL);
        let sent = tokio::select! {
            Some(reply) = replies.recv() => sink.send(Message::Text(reply.into())).await,
            next = reader.next() => match next {
                Ok(Some(slice)) => send_slice(sink, slice, &mut reader).await,
                Ok(None) => return CloseReason::Ended,
                Err(error) => return CloseReason::Failed(error.to_string()),
            },
            () = quiet => sink.send(Message::Ping(Bytes::new())).await,
        };
        if sent.is_err() {
            return CloseReason::Gone;
        }
    }
}

/// Sends messages. While the client reads nothing, they are held within the budget of all readers, and read again if
/// they were dropped there.
async fn send_slice(sink: &mut SocketSink, slice: MessageSlice, reader: &mut SessionReader) -> Result<(), axum::Error> {
    let (first_offset, count) = (slice.first_offset(), slice.messages().len());
    let held = reader.hold(slice);
    for sent in 0..count {
        poll_fn(|cx| sink.poll_ready_unpin(cx)).await?;
        let message = held.messages().and_then(|slice| slice.messages().get(sent).cloned());
        let Some(message) = message else {
            reader.rewind(first_offset + sent as u64).await;
            break;
        };
        // Copied, because the sink keeps a message while its client reads nothing, and the message would keep the
        // memory of its whole batch.
        sink.start_send_unpin(text_message(Bytes::copy_from_slice(&message.json)))?;
    }
    drop(held);
    sink.flush().await
}

async fn receive_commands(
    receiver: &mut SocketReceiver,
    client: &SocketClient,
    replies: mpsc::Sender<String>,
    command_lock: &Mutex<()>,
) {
    while let Some(text) = receiver.next().await {
        let _lock = command_lock.lock().await;
        let reply = client.handle(&text).await;
        let reply = serde_json::to_string(&reply).unwrap_or_default();
        if replies.send(reply).await.is_err() {
            return;
        }
    }
}

/// The fields that are read before the command itself.
#[derive(Deserialize)]
struct SocketCommandHead {
    #[serde(rename = "type")]
    kind: String,
    /// Of a ping, returned in the pong; of an approval, the request.
    #[serde(default)]
    id: Option<Value>,
}

/// A command without parameters.
#[derive(Deserialize)]
struct EmptyCommand {}

impl RequestBody for EmptyCommand {
    const FORM: SettingsForm = without_settings(&["type", "id"]);
}

/// The response to a command.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum SocketReply {
    Pong {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Value>,
    },
    Reply {
        to: String,
        ok: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Problem>,
    },
}

impl SocketClient {
    async fn handle(&self, text: &[u8]) -> SocketReply {
        let head = match parse_json::<SocketCommandHead>(text) {
            Ok(head) => head,
            Err(problem) => return SocketReply::Reply { to: String::new(), ok: false, error: Some(problem) },
        };
        if head.kind == "ping" {
            return SocketReply::Pong { id: head.id };
        }
        let error = self.run_command(&head, text).await.err();
        SocketReply::Reply { to: head.kind, ok: error.is_none(), error }
    }

    async fn run_command(&self, head: &SocketCommandHead, text: &[u8]) -> Result<(), Problem> {
        self.check_may_control().await?;
        match head.kind.as_str() {
            "prompt" => {
                let request = self.read::<PromptRequest>(text).await?;
                self.service.prompt(&self.session, &request).await.map(drop)
            }
            "interrupt" => {
                self.read::<EmptyCommand>(text).await?;
                self.service.interrupt(&self.session).await.map(drop)
            }
            "cancel" => {
                self.read::<EmptyCommand>(text).await?;
                self.service.cancel(&self.session).await.map(drop)
            }
            "approval" => {
                let request = head.id.as_ref().and_then(Value::as_str);
                let request = request.ok_or_else(|| Problem::bad_field("id", "required, the request to answer"))?;
                let answer = self.read::<ApprovalAnswer>(text).await?;
                self.service.answer(&self.session, request, &answer).await.map(drop)
            }
            other => Err(Problem::bad_field(
                "type",
                &format!("`{other}` is not prompt, interrupt, cancel, approval or ping"),
            )),
        }
    }

    /// Reads a command, and reports ignored fields in the session.
    async fn read<T: RequestBody>(&self, text: &[u8]) -> Result<T, Problem> {
        let (command, ignored) = parse_body(text)?;
        self.service.report_ignored_fields(&self.session, &ignored).await;
        Ok(command)
    }

    async fn check_may_control(&self) -> Result<(), Problem> {
        match &self.caller {
            Some(caller) => Ok(caller.check_may_control().await?),
            None => Ok(()),
        }
    }
}
