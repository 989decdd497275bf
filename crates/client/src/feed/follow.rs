//! The reader: chooses the connection for the next message and handles its end.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::cursor::{FeedCursor, FeedError};
use super::socket::{FeedSocket, SocketEvent, SocketOpenError};
use super::{FeedRoute, ReconnectPolicy};
use crate::{AgentError, AgentErrorKind, RemoteServer, SessionView, http::HttpClient};

/// The number of WebSockets in a row that may end without news before polling starts: a proxy may not let them live.
const MAX_FRUITLESS_SOCKETS: u32 = 3;

/// Reads the messages of one session.
pub struct SessionFeed<P: FeedCursor> {
    server: RemoteServer,
    route: FeedRoute,
    place: P,
    reconnect: ReconnectPolicy,
    mode: FeedMode,
    socket: Option<FeedSocket>,
    /// The remaining messages of the last page.
    page: VecDeque<P::Item>,
    /// The number of failures in a row.
    failures: u32,
    /// The number of WebSockets in a row that delivered nothing new.
    fruitless: u32,
    /// The gap seen on the last attempt.
    gap: Option<String>,
}

/// The source of the next message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FeedMode {
    /// A WebSocket.
    Socket,
    /// Pages.
    Pages,
    /// Pages of an ended session: the last one is empty.
    LastPages,
    /// Everything was read, or reading failed.
    Over,
}

/// A page. Some servers return the bare list of messages.
#[derive(Deserialize)]
struct FeedPage {
    events: Vec<Box<RawValue>>,
}

impl<P: FeedCursor> SessionFeed<P> {
    pub fn new(server: HttpClient, route: FeedRoute, place: P, reconnect: ReconnectPolicy) -> Self {
        let mode = if reconnect.polling_only { FeedMode::Pages } else { FeedMode::Socket };
        let server = RemoteServer { http: server };
        let (socket, page, gap) = (None, VecDeque::new(), None);
        Self { server, route, place, reconnect, mode, socket, page, failures: 0, fruitless: 0, gap }
    }

    /// Returns the next message; `None` once the session has ended and all was returned. Nothing follows an error.
    pub async fn next(&mut self) -> Option<Result<P::Item, AgentError>> {
        loop {
            if let Some(item) = self.page.pop_front() {
                return Some(Ok(item));
            }
            let step = match self.mode {
                FeedMode::Over => return None,
                FeedMode::Socket => self.read_socket().await,
                FeedMode::Pages | FeedMode::LastPages => self.fetch_page().await.map(|()| None),
            };
            match step {
                Ok(None) => {}
                Ok(Some(item)) => return Some(Ok(item)),
                Err(error) => {
                    self.mode = FeedMode::Over;
                    return Some(Err(error));
                }
            }
        }
    }

    async fn read_socket(&mut self) -> Result<Option<P::Item>, AgentError> {
        let Some(socket) = self.socket.as_mut() else { return self.open_socket().await.map(|()| None) };
        match socket.next().await {
            SocketEvent::Text(text) => return self.take_socket_message(&text).await,
            SocketEvent::Ended => self.mode = FeedMode::Over,
            SocketEvent::Closed(reason) => self.handle_disconnect(true, &reason).await?,
            SocketEvent::Broken(reason) => self.handle_disconnect(false, &reason).await?,
        }
        Ok(None)
    }

    async fn open_socket(&mut self) -> Result<(), AgentError> {
        let path = format!("{}{}", self.route.socket, self.place.socket_query());
        match FeedSocket::open(&self.server.http, &path, self.reconnect.heartbeat).await {
            Ok(socket) => {
                self.socket = Some(socket);
                self.failures = 0;
                self.fruitless += 1;
            }
            Err(SocketOpenError::Failed(error)) => self.retry_or_fail(error).await?,
            // Probably temporary: WebSockets may work again in a moment.
            Err(SocketOpenError::Refused(429 | 502..=504)) if self.fruitless < MAX_FRUITLESS_SOCKETS => {
                self.fruitless += 1;
                tokio::time::sleep(self.reconnect.retry_delay(self.fruitless)).await;
            }
            // The first page shows whether the WebSocket, the token or the session is the problem.
            Err(SocketOpenError::Refused(_)) => self.mode = FeedMode::Pages,
        }
        Ok(())
    }

    async fn take_socket_message(&mut self, text: &str) -> Result<Option<P::Item>, AgentError> {
        match self.place.take_message(text) {
            Ok(None) => Ok(None),
            Ok(Some(item)) => {
                (self.failures, self.fruitless, self.gap) = (0, 0, None);
                Ok(Some(item))
            }
            Err(error) => {
                self.handle_feed_error(error, text)?;
                self.handle_disconnect(false, "something is missing").await?;
                Ok(None)
            }
        }
    }

    /// Tolerates a gap once, since the next connection may fill it; the same gap again is an error.
    fn handle_feed_error(&mut self, error: FeedError, text: &str) -> Result<(), AgentError> {
        match error {
            FeedError::Gap(gap) if self.gap.as_ref() != Some(&gap) => {
                self.gap = Some(gap);
                Ok(())
            }
            FeedError::Gap(cause) | FeedError::Malformed(cause) => {
                Err(self.server.malformed_response(&cause, text.as_bytes()))
            }
        }
    }

    /// Handles the end of a WebSocket; asks the server whether the session has ended if that is possible.
    async fn handle_disconnect(&mut self, cleanly: bool, reason: &str) -> Result<(), AgentError> {
        self.socket = None;
        if !cleanly && self.fruitless == 0 {
            let error = AgentError::new(AgentErrorKind::ConnectionFailed, format!("the connection broke: {reason}"));
            return self.retry_or_fail(error).await;
        }
        match self.has_ended().await {
            Ok(true) => self.mode = FeedMode::LastPages,
            Ok(false) if self.fruitless >= MAX_FRUITLESS_SOCKETS => self.mode = FeedMode::Pages,
            Ok(false) => tokio::time::sleep(self.reconnect.retry_delay(self.fruitless.max(1))).await,
            Err(error) => self.retry_or_fail(error).await?,
        }
        Ok(())
    }

    async fn has_ended(&mut self) -> Result<bool, AgentError> {
        let view: SessionView = self.server.get(&self.route.state).await?;
        Ok(view.state.is_final())
    }

    async fn fetch_page(&mut self) -> Result<(), AgentError> {
        let path = format!("{}{}", self.route.pages, self.place.page_query());
        let requested_at = Instant::now();
        let messages = match self.request_messages(&path).await {
            Ok(messages) => messages,
            Err(error) => return self.retry_or_fail(error).await,
        };
        self.failures = 0;
        for message in &messages {
            match self.place.take_page_message(message.get()) {
                Ok(item) => self.page.extend(item),
                Err(error) => return self.handle_feed_error(error, message.get()),
            }
        }
        if !messages.is_empty() {
            self.gap = None;
            return Ok(());
        }
        self.handle_empty_page(requested_at).await
    }

    /// Handles an empty page, the last one if the session had ended before the request.
    async fn handle_empty_page(&mut self, requested_at: Instant) -> Result<(), AgentError> {
        if self.mode == FeedMode::LastPages {
            self.mode = FeedMode::Over;
            return Ok(());
        }
        match self.has_ended().await {
            Ok(true) => self.mode = FeedMode::LastPages,
            // After a long poll that took its time, the next request may follow at once.
            Ok(false) => tokio::time::sleep_until(requested_at + self.reconnect.poll).await,
            Err(error) => self.retry_or_fail(error).await?,
        }
        Ok(())
    }

    async fn request_messages(&mut self, path: &str) -> Result<Vec<Box<RawValue>>, AgentError> {
        let answer = self.server.request("GET", path, None::<&()>).await?;
        let alone = serde_json::from_slice::<Vec<Box<RawValue>>>(&answer);
        alone
            .or_else(|_| serde_json::from_slice::<FeedPage>(&answer).map(|page| page.events))
            .map_err(|error| self.server.malformed_response(&error.to_string(), &answer))
    }

    /// Waits before the next attempt, unless there were too many or a retry cannot help.
    async fn retry_or_fail(&mut self, error: AgentError) -> Result<(), AgentError> {
        self.failures += 1;
        if !error.is_transient() || self.failures > self.reconnect.attempts {
            return Err(error);
        }
        tokio::time::sleep(self.reconnect.retry_delay(self.failures)).await;
        Ok(())
    }
}
