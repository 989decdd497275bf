//! One WebSocket, until it closes or the server stops responding.

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
    http::{HttpClient, HttpError, ServerConnection},
};

/// The maximum time to open a WebSocket.
const SOCKET_OPEN_TIMEOUT: Duration = Duration::from_secs(15);

/// The maximum size of a message.
const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// The reason why a WebSocket could not be opened.
pub enum SocketOpenError {
    /// The server or a proxy answered with this status.
    Refused(u16),
    /// There was no valid answer.
    Failed(AgentError),
}

/// The outcome of waiting for a message.
pub enum SocketEvent {
    /// A message.
    Text(Utf8Bytes),
    /// The server closed it because the session has ended and everything was sent.
    Ended,
    /// The server closed it.
    Closed(String),
    /// The connection broke.
    Broken(String),
}

/// An open WebSocket.
pub struct FeedSocket {
    stream: WebSocketStream<Box<dyn ServerConnection>>,
    heartbeat: Duration,
    /// A ping was sent and not yet answered.
    ping_sent: bool,
}

impl FeedSocket {
    pub async fn open(server: &HttpClient, path: &str, heartbeat: Duration) -> Result<Self, SocketOpenError> {
        let opening = async {
            let address = server.address();
            let connection = server.connect().await.map_err(|error| SocketOpenError::Failed(error.into()))?;
            // Already encrypted, if the address requires it.
            let url = format!("ws://{}{}", address.host_header(), address.request_path(path));
            let mut request = url.into_client_request().map_err(|error| socket_open_error(server, error))?;
            if let Some(authorization) = &server.authorization {
                request.headers_mut().insert(AUTHORIZATION, authorization.clone());
            }
            let config = WebSocketConfig::default()
                .max_message_size(Some(MAX_MESSAGE_BYTES))
                .max_frame_size(Some(MAX_MESSAGE_BYTES));
            let opened = client_async_with_config(request, connection, Some(config)).await;
            let (stream, _) = opened.map_err(|error| socket_open_error(server, error))?;
            Ok(Self { stream, heartbeat, ping_sent: false })
        };
        timeout(SOCKET_OPEN_TIMEOUT, opening)
            .await
            .unwrap_or_else(|_| Err(SocketOpenError::Failed(HttpError::Late(SOCKET_OPEN_TIMEOUT).into())))
    }

    /// Waits for the next message. Cancel safe.
    pub async fn next(&mut self) -> SocketEvent {
        loop {
            match timeout(self.heartbeat, self.stream.next()).await {
                Err(_) if self.ping_sent => {
                    return SocketEvent::Broken(format!("no sign of the server for {:?}", self.heartbeat * 2));
                }
                Err(_) => {
                    self.ping_sent = true;
                    // A ping that cannot be written shows as further silence.
                    drop(timeout(self.heartbeat, self.stream.send(Message::Ping(Bytes::new()))).await);
                }
                Ok(Some(Ok(Message::Text(text)))) => {
                    self.ping_sent = false;
                    return SocketEvent::Text(text);
                }
                Ok(Some(Ok(Message::Close(frame)))) => return close_event(frame),
                Ok(Some(Ok(_))) => self.ping_sent = false,
                Ok(Some(Err(error))) => return SocketEvent::Broken(error.to_string()),
                Ok(None) => return SocketEvent::Broken("the connection ended".to_owned()),
            }
        }
    }
}

fn close_event(frame: Option<tokio_tungstenite::tungstenite::protocol::CloseFrame>) -> SocketEvent {
    match frame {
        Some(frame) if frame.code == CloseCode::Normal && frame.reason.as_str() == "session ended" => {
            SocketEvent::Ended
        }
        Some(frame) => SocketEvent::Closed(format!("{} {}", frame.code, frame.reason)),
        None => SocketEvent::Closed("without a reason".to_owned()),
    }
}

fn socket_open_error(server: &HttpClient, error: Error) -> SocketOpenError {
    match error {
        Error::Http(response) => SocketOpenError::Refused(response.status().as_u16()),
        Error::Io(error) => SocketOpenError::Failed(AgentError::new(
            AgentErrorKind::ConnectionFailed,
            format!("the connection to {} broke: {error}", server.address()),
        )),
        // The server responds, but not with the WebSocket protocol.
        _ => SocketOpenError::Refused(0),
    }
}
