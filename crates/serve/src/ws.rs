//! A session over WebSocket: what has happened, what happens, and a way to steer it.
//!
//! Messages of the dialect go out as they are. A client may send commands, and gets a reply to each, of the type
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
use switchboard_event::SettingsForm;
use tokio::{
    sync::{Mutex, mpsc},
    time::{Instant, sleep_until, timeout},
};

use crate::{
    Drain, Problem, Service,
    feed::{Part, Reader},
    guard::Caller,
    input::{RequestBody, no_settings, parse, parse_body},
    order::{ApprovalAnswer, PromptRequest},
};

/// The largest message that a client may send: a prompt with images.
const LARGEST: usize = crate::order::LARGEST_BODY;

/// So much is kept to read into for each client: most say nothing for hours.
const HEARS: usize = 8 << 10;

/// So much is collected before it is written to a client; a client that doesn't read keeps about as much in memory.
const WRITE_BUFFER_BYTES: usize = 16 << 10;

/// A ping is sent when there was nothing to say for so long: who is gone without a word is noticed then.
pub const QUIET: Duration = Duration::from_secs(30);

/// How long a client may take to say good-bye.
pub const GOOD_BYE: Duration = Duration::from_secs(2);

/// So many replies may wait for a client that does not read.
const REPLIES: usize = 16;

/// So many pings are answered on a connection: one a second for a day.
pub const PINGS: u32 = 86_400;

/// Why a connection is closed.
pub enum Close {
    /// The session has ended.
    Ended,
    /// The session was deleted.
    Deleted,
    /// The server is about to end.
    Shutdown,
    /// It cannot go on.
    Failed(String),
    /// The client is gone, so there is nobody to be told.
    Gone,
}

/// Who is at the other end.
pub struct Client {
    /// The server.
    pub service: Service,
    /// The session.
    pub session: String,
    /// Who it is; without a guard around the server nobody is asked.
    pub caller: Option<Caller>,
}

/// Sets how much memory a connection takes.
pub fn sized(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade.max_message_size(LARGEST).read_buffer_size(HEARS).write_buffer_size(WRITE_BUFFER_BYTES)
}

/// Serves a session to one client, until the session ends, the server does, or the client goes.
pub async fn serve(socket: WebSocket, reader: Reader, client: Client, drain: Drain) {
    let (mut sink, mut stream) = socket.split();
    let (replies, mut inbox) = mpsc::channel(REPLIES);
    let obeying = Mutex::new(());
    let close = {
        let listening = listen(&mut stream, &client, replies, &obeying);
        tokio::pin!(listening);
        let close = tokio::select! {
            close = tell(&mut sink, reader, &mut inbox) => close,
            () = &mut listening => Close::Gone,
            () = drain.begun() => Close::Shutdown,
        };
        if matches!(close, Close::Ended | Close::Shutdown) {
            // What is being done just now is done, and answered.
            let answered = async {
                tokio::select! {
                    () = listening => {}
                    _ = obeying.lock() => {}
                }
                while let Ok(reply) = inbox.try_recv() {
                    sink.send(Message::Text(reply.into())).await?;
                }
                Ok::<_, axum::Error>(())
            };
            // Whoever does not read its reply is not waited for.
            timeout(GOOD_BYE, answered).await.ok();
        }
        close
    };
    farewell(sink, stream, close).await;
}

/// Closes a connection so that all that was sent arrives.
pub async fn farewell(mut sink: SplitSink<WebSocket, Message>, mut stream: SplitStream<WebSocket>, close: Close) {
    let Some(frame) = close.frame() else {
        // The answer to its own good-bye, or to what was no WebSocket message, goes out.
        timeout(GOOD_BYE, sink.close()).await.ok();
        return;
    };
    let good_bye = async {
        if sink.send(Message::Close(Some(frame))).await.is_ok() {
            // To hang up with something unread would take back what the client has not read yet.
            while let Some(Ok(_)) = stream.next().await {}
        }
    };
    // Whoever does not answer is left.
    timeout(GOOD_BYE, good_bye).await.ok();
}

impl Close {
    fn frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Gone => return None,
            Self::Ended => (1000, "session ended".to_owned()),
            Self::Deleted => (1000, "session deleted".to_owned()),
            Self::Shutdown => (1001, Drain::REASON.to_owned()),
            Self::Failed(why) => (1011, why),
        };
        // A close frame has room for so much.
        let reason: String = reason.chars().take(100).filter(char::is_ascii).collect();
        Some(CloseFrame { code, reason: Utf8Bytes::from(reason) })
    }
}

/// Tells the client what happens, and what became of its commands.
async fn tell(
    sink: &mut SplitSink<WebSocket, Message>,
    mut reader: Reader,
    replies: &mut mpsc::Receiver<String>,
) -> Close {
    loop {
        let quiet = sleep_until(Instant::now() + QUIET);
        let sent = tokio::select! {
            Some(reply) = replies.recv() => sink.send(Message::Text(reply.into())).await,
            next = reader.next() => match next {
                Ok(Some(part)) => send(sink, part, &mut reader).await,
                Ok(None) => return Close::Ended,
                Err(error) => return Close::Failed(error.to_string()),
            },
            () = quiet => sink.send(Message::Ping(Bytes::new())).await,
        };
        if sent.is_err() {
            return Close::Gone;
        }
    }
}

/// Sends messages on. While the client takes none, they are held within the memory that all readers share, and read
/// again if they were lost there.
async fn send(sink: &mut SplitSink<WebSocket, Message>, part: Part, reader: &mut Reader) -> Result<(), axum::Error> {
    let (first_offset, count) = (part.first_offset(), part.messages().len());
    let held = reader.hold(part);
    for sent in 0..count {
        poll_fn(|cx| sink.poll_ready_unpin(cx)).await?;
        let message = held.part().and_then(|part| part.messages().get(sent).cloned());
        let Some(message) = message else {
            reader.rewind(first_offset + sent as u64).await;
            break;
        };
        // Copied, because the sink keeps one message while its client reads nothing, and a message shares the memory of
        // all that were read with it. All that we write is UTF-8.
        let text = Utf8Bytes::try_from(Bytes::copy_from_slice(&message.json)).unwrap_or_default();
        sink.start_send_unpin(Message::Text(text))?;
    }
    drop(held);
    sink.flush().await
}

/// Hears the client, until it goes.
async fn listen(
    stream: &mut SplitStream<WebSocket>,
    client: &Client,
    replies: mpsc::Sender<String>,
    obeying: &Mutex<()>,
) {
    let mut pings = 0;
    while let Some(Ok(message)) = stream.next().await {
        let text = match &message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            // Each is answered, and the answers to one who does not read would pile up.
            Message::Ping(_) if pings > PINGS => return,
            Message::Ping(_) => {
                pings += 1;
                continue;
            }
            Message::Pong(_) => continue,
            Message::Close(_) => return,
        };
        let _obeying = obeying.lock().await;
        let reply = client.obey(text).await;
        let reply = serde_json::to_string(&reply).unwrap_or_default();
        if replies.send(reply).await.is_err() {
            return;
        }
    }
}

/// What a command is.
#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
    /// Of a ping, comes back; of an approval, what is answered.
    #[serde(default)]
    id: Option<Value>,
}

/// A command that is only named.
#[derive(Deserialize)]
struct PlainCommand {}

impl RequestBody for PlainCommand {
    const FORM: SettingsForm = no_settings(&["type", "id"]);
}

/// What became of a command.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Reply {
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

impl Client {
    async fn obey(&self, text: &[u8]) -> Reply {
        let kind = match parse::<Kind>(text) {
            Ok(kind) => kind,
            Err(problem) => return Reply::Reply { to: String::new(), ok: false, error: Some(problem) },
        };
        if kind.kind == "ping" {
            return Reply::Pong { id: kind.id };
        }
        let error = self.command(&kind, text).await.err();
        Reply::Reply { to: kind.kind, ok: error.is_none(), error }
    }

    async fn command(&self, kind: &Kind, text: &[u8]) -> Result<(), Problem> {
        self.may_command().await?;
        match kind.kind.as_str() {
            "prompt" => {
                let request = self.read::<PromptRequest>(text).await?;
                self.service.prompt(&self.session, &request).await.map(drop)
            }
            "interrupt" => {
                self.read::<PlainCommand>(text).await?;
                self.service.interrupt(&self.session).await.map(drop)
            }
            "cancel" => {
                self.read::<PlainCommand>(text).await?;
                self.service.cancel(&self.session).await.map(drop)
            }
            "approval" => {
                let request = kind.id.as_ref().and_then(Value::as_str);
                let request = request.ok_or_else(|| Problem::bad_field("id", "which approval is answered"))?;
                let answer = self.read::<ApprovalAnswer>(text).await?;
                self.service.answer(&self.session, request, &answer).await.map(drop)
            }
            other => Err(Problem::bad_field(
                "type",
                &format!("`{other}` is not prompt, interrupt, cancel, approval or ping"),
            )),
        }
    }

    /// Reads a command. The session tells of fields that were ignored.
    async fn read<T: RequestBody>(&self, text: &[u8]) -> Result<T, Problem> {
        let (command, ignored) = parse_body(text)?;
        self.service.remark_ignored(&self.session, &ignored).await;
        Ok(command)
    }

    async fn may_command(&self) -> Result<(), Problem> {
        match &self.caller {
            Some(caller) => Ok(caller.may_command().await?),
            None => Ok(()),
        }
    }
}
