//! One WebSocket, until it closes or the server falls silent.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::header::AUTHORIZATION;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        Bytes, Error, Message, Utf8Bytes,
        client::IntoClientRequest as _,
        protocol::{WebSocketConfig, frame::coding::CloseCode},
    },
};

use crate::{
    AgentError, AgentErrorKind,
    http::{Client, Connection, HttpError},
};

/// How long opening one may take.
const OPENING: Duration = Duration::from_secs(15);

/// How large a message may be.
const LARGEST: usize = 256 << 20;

/// Why there is no WebSocket.
pub enum NotOpen {
    /// The server, or something in between, answered with this status.
    Refused(u16),
    /// There was no answer, or none that makes sense.
    Failed(AgentError),
}

/// What came of waiting.
pub enum Heard {
    /// A message.
    Text(Utf8Bytes),
    /// The server closed it, because the session has ended and all was sent.
    Ended,
    /// The server closed it.
    Closed(String),
    /// It broke.
    Broken(String),
}

/// A WebSocket.
pub struct Socket {
    stream: WebSocketStream<Box<dyn Connection>>,
    heartbeat: Duration,
    /// The server was asked whether it is there.
    asked: bool,
}

impl Socket {
    pub async fn open(server: &Client, path: &str, heartbeat: Duration) -> Result<Self, NotOpen> {
        let opening = async {
            let address = server.address();
            let refused = |source| HttpError::Connect { address: address.clone(), source };
            let connection = address.connect().await.map_err(|e| NotOpen::Failed(refused(e).into()))?;
            let url = format!("ws://{}{}", address.host(), address.path(path));
            let mut request = url.into_client_request().map_err(|error| not_open(server, error))?;
            if let Some(authorization) = &server.authorization {
                request.headers_mut().insert(AUTHORIZATION, authorization.clone());
            }
            let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
            let opened = client_async_with_config(request, connection, Some(config)).await;
            let (stream, _) = opened.map_err(|error| not_open(server, error))?;
            Ok(Self { stream, heartbeat, asked: false })
        };
        timeout(OPENING, opening).await.unwrap_or_else(|_| Err(NotOpen::Failed(HttpError::Late(OPENING).into())))
    }

    /// Waits for what comes next. May be dropped while it waits.
    pub async fn next(&mut self) -> Heard {
        loop {
            match timeout(self.heartbeat, self.stream.next()).await {
                Err(_) if self.asked => {
                    return Heard::Broken(format!("no sign of the server for {:?}", self.heartbeat * 2));
                }
                Err(_) => {
                    self.asked = true;
                    // What cannot be written in time is told by the silence that follows.
                    drop(timeout(self.heartbeat, self.stream.send(Message::Ping(Bytes::new()))).await);
                }
                Ok(Some(Ok(Message::Text(text)))) => {
                    self.asked = false;
                    return Heard::Text(text);
                }
                Ok(Some(Ok(Message::Close(frame)))) => return closed(frame),
                Ok(Some(Ok(_))) => self.asked = false,
                Ok(Some(Err(error))) => return Heard::Broken(error.to_string()),
                Ok(None) => return Heard::Broken("the connection ended".to_owned()),
            }
        }
    }
}

fn closed(frame: Option<tokio_tungstenite::tungstenite::protocol::CloseFrame>) -> Heard {
    match frame {
        Some(frame) if frame.code == CloseCode::Normal && frame.reason.as_str() == "session ended" => Heard::Ended,
        Some(frame) => Heard::Closed(format!("{} {}", frame.code, frame.reason)),
        None => Heard::Closed("without a reason".to_owned()),
    }
}

fn not_open(server: &Client, error: Error) -> NotOpen {
    match error {
        Error::Http(response) => NotOpen::Refused(response.status().as_u16()),
        Error::Io(error) => NotOpen::Failed(AgentError::new(
            AgentErrorKind::ConnectionFailed,
            format!("the connection to {} broke: {error}", server.address()),
        )),
        // It speaks, but no WebSocket.
        _ => NotOpen::Refused(0),
    }
}
