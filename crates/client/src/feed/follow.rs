//! The reader itself: from which connection the next message comes, and what to do when it ends.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    Reconnect, Route,
    place::{Amiss, Place},
    socket::{Heard, NotOpen, Socket},
};
use crate::{AgentError, AgentErrorKind, Remote, SessionView, http::Client};

/// So many WebSockets in a row may end without news before pages are used: something in between does not let them be.
const FRUITLESS: u32 = 3;

/// Reads one session.
pub struct Feed<P: Place> {
    server: Remote,
    route: Route,
    place: P,
    reconnect: Reconnect,
    mode: Mode,
    socket: Option<Socket>,
    /// What is left of the last page.
    page: VecDeque<P::Item>,
    /// Failures in a row.
    failures: u32,
    /// WebSockets in a row that gave nothing new.
    fruitless: u32,
    /// What was missing the last time.
    gap: Option<String>,
}

/// Where the next message comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A WebSocket.
    Socket,
    /// Pages.
    Pages,
    /// Pages, and the session has ended: the last one is empty.
    LastPages,
    /// All was read, or it was given up.
    Over,
}

/// A page. Some servers give the messages alone.
#[derive(Deserialize)]
struct Page {
    events: Vec<Box<RawValue>>,
}

impl<P: Place> Feed<P> {
    pub fn new(server: Client, route: Route, place: P, reconnect: Reconnect) -> Self {
        let mode = if reconnect.polling_only { Mode::Pages } else { Mode::Socket };
        let server = Remote { http: server };
        let (socket, page, gap) = (None, VecDeque::new(), None);
        Self { server, route, place, reconnect, mode, socket, page, failures: 0, fruitless: 0, gap }
    }

    /// The next message; nothing once the session has ended and all was seen. Nothing follows an error.
    pub async fn next(&mut self) -> Option<Result<P::Item, AgentError>> {
        loop {
            if let Some(item) = self.page.pop_front() {
                return Some(Ok(item));
            }
            let step = match self.mode {
                Mode::Over => return None,
                Mode::Socket => self.hear().await,
                Mode::Pages | Mode::LastPages => self.turn_page().await.map(|()| None),
            };
            match step {
                Ok(None) => {}
                Ok(Some(item)) => return Some(Ok(item)),
                Err(error) => {
                    self.mode = Mode::Over;
                    return Some(Err(error));
                }
            }
        }
    }

    async fn hear(&mut self) -> Result<Option<P::Item>, AgentError> {
        let Some(socket) = self.socket.as_mut() else { return self.open().await.map(|()| None) };
        match socket.next().await {
            Heard::Text(text) => return self.heard(&text).await,
            Heard::Ended => self.mode = Mode::Over,
            Heard::Closed(reason) => self.lost(true, &reason).await?,
            Heard::Broken(reason) => self.lost(false, &reason).await?,
        }
        Ok(None)
    }

    async fn open(&mut self) -> Result<(), AgentError> {
        let path = format!("{}{}", self.route.socket, self.place.socket());
        match Socket::open(&self.server.http, &path, self.reconnect.heartbeat).await {
            Ok(socket) => {
                self.socket = Some(socket);
                self.failures = 0;
                self.fruitless += 1;
            }
            Err(NotOpen::Failed(error)) => self.failed(error).await?,
            // It may be there again in a moment, WebSockets and all.
            Err(NotOpen::Refused(429 | 502..=504)) if self.fruitless < FRUITLESS => {
                self.fruitless += 1;
                tokio::time::sleep(self.reconnect.pause(self.fruitless)).await;
            }
            // Whether it is for the WebSocket, the token or the session, the first page tells.
            Err(NotOpen::Refused(_)) => self.mode = Mode::Pages,
        }
        Ok(())
    }

    async fn heard(&mut self, text: &str) -> Result<Option<P::Item>, AgentError> {
        match self.place.take(text) {
            Ok(None) => Ok(None),
            Ok(Some(item)) => {
                (self.failures, self.fruitless, self.gap) = (0, 0, None);
                Ok(Some(item))
            }
            Err(amiss) => {
                self.amiss(amiss, text)?;
                self.lost(false, "something is missing").await?;
                Ok(None)
            }
        }
    }

    /// What is missing may be there the next time; if not, that is no way to go on.
    fn amiss(&mut self, amiss: Amiss, text: &str) -> Result<(), AgentError> {
        match amiss {
            Amiss::Gap(gap) if self.gap.as_ref() != Some(&gap) => {
                self.gap = Some(gap);
                Ok(())
            }
            Amiss::Gap(cause) | Amiss::Strange(cause) => Err(self.server.strange(&cause, text.as_bytes())),
        }
    }

    /// The WebSocket ended. If that may be because the session did, the server tells.
    async fn lost(&mut self, cleanly: bool, reason: &str) -> Result<(), AgentError> {
        self.socket = None;
        if !cleanly && self.fruitless == 0 {
            let error = AgentError::new(AgentErrorKind::ConnectionFailed, format!("the connection broke: {reason}"));
            return self.failed(error).await;
        }
        match self.has_ended().await {
            Ok(true) => self.mode = Mode::LastPages,
            Ok(false) if self.fruitless >= FRUITLESS => self.mode = Mode::Pages,
            Ok(false) => tokio::time::sleep(self.reconnect.pause(self.fruitless.max(1))).await,
            Err(error) => self.failed(error).await?,
        }
        Ok(())
    }

    async fn has_ended(&mut self) -> Result<bool, AgentError> {
        let view: SessionView = self.server.get(&self.route.state).await?;
        Ok(view.state.is_final())
    }

    async fn turn_page(&mut self) -> Result<(), AgentError> {
        let path = format!("{}{}", self.route.pages, self.place.page());
        let asked = Instant::now();
        let messages = match self.messages(&path).await {
            Ok(messages) => messages,
            Err(error) => return self.failed(error).await,
        };
        self.failures = 0;
        for message in &messages {
            match self.place.take_from_page(message.get()) {
                Ok(item) => self.page.extend(item),
                Err(amiss) => return self.amiss(amiss, message.get()),
            }
        }
        if !messages.is_empty() {
            self.gap = None;
            return Ok(());
        }
        self.nothing_more(asked).await
    }

    /// An empty page is the last one if the session had ended before it was asked for.
    async fn nothing_more(&mut self, asked: Instant) -> Result<(), AgentError> {
        if self.mode == Mode::LastPages {
            self.mode = Mode::Over;
            return Ok(());
        }
        match self.has_ended().await {
            Ok(true) => self.mode = Mode::LastPages,
            // A server that was told to wait, and did, may be asked again at once.
            Ok(false) => tokio::time::sleep_until(asked + self.reconnect.poll).await,
            Err(error) => self.failed(error).await?,
        }
        Ok(())
    }

    async fn messages(&mut self, path: &str) -> Result<Vec<Box<RawValue>>, AgentError> {
        let answer = self.server.request("GET", path, None::<&()>).await?;
        let alone = serde_json::from_slice::<Vec<Box<RawValue>>>(&answer);
        alone
            .or_else(|_| serde_json::from_slice::<Page>(&answer).map(|page| page.events))
            .map_err(|error| self.server.strange(&error.to_string(), &answer))
    }

    /// Waits before the next try, unless there were too many or trying cannot help.
    async fn failed(&mut self, error: AgentError) -> Result<(), AgentError> {
        self.failures += 1;
        if !error.is_transient() || self.failures > self.reconnect.attempts {
            return Err(error);
        }
        tokio::time::sleep(self.reconnect.pause(self.failures)).await;
        Ok(())
    }
}
