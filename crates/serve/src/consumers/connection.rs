//! The connection of one consumer. It stays open across runs, until the consumer disconnects or the server shuts down.

use std::{collections::VecDeque, sync::Arc};

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use switchboard_dialects::consumer::{
    unified::{VerbatimFields, VerbatimJson},
    wire::{Consumer, Permission, Sequenced, ServerMessage},
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use super::{
    JoinedConsumer,
    client_messages::ConsumerMessages,
    shared_session::{SharedSession, SharedSessionState, WaitingPrompt, WaitingPromptOutcome},
};
use crate::{
    Drain, Problem,
    conversation::MessageWatch,
    feed::{FeedMessage, MessageSlice},
    ws::{CloseReason, MAX_QUEUED_REPLIES, PING_INTERVAL, SocketReceiver, SocketSink, close_socket, text_message},
};

/// Serves a session to one consumer.
pub async fn serve(socket: WebSocket, consumer: JoinedConsumer, drain: Drain) {
    let (mut sink, stream) = socket.split();
    let mut receiver = SocketReceiver::new(stream);
    let (replies, inbox) = mpsc::channel(MAX_QUEUED_REPLIES);
    let reason = {
        let session = consumer.messages.presence.session.clone();
        let changes = session.changes();
        let known = session.state().ended_count();
        let mut stream =
            ConsumerStream { sink: &mut sink, session, changes, present: Vec::new(), waiting: None, known, sent: None };
        let (greeting, pending) = (consumer.greeting(), consumer.pending());
        let JoinedConsumer { messages, feed, count, skip, .. } = consumer;
        let messages = Arc::new(messages);
        let replay = SessionReplay { feed, history: count, sent: skip, greeting, pending };
        tokio::select! {
            reason = stream.run(replay, inbox) => reason,
            () = receive_messages(&mut receiver, &messages, replies) => CloseReason::Gone,
            () = drain.wait_until_begun() => CloseReason::Shutdown,
        }
    };
    close_socket(sink, receiver, reason).await;
}

/// The session as it is sent to a consumer: first the history, then new messages.
struct SessionReplay {
    feed: MessageWatch,
    /// The number of messages that are history.
    history: u64,
    /// The number of messages that were sent or skipped.
    sent: u64,
    greeting: Vec<ServerMessage>,
    /// The open requests that were not sent yet.
    pending: Vec<Permission>,
}

impl SessionReplay {
    /// Returns the messages that are history. A request that is still open and all messages after it are sent as new:
    /// so it is sent once, and also to consumers that ignore requests in the history.
    fn split_history<'a>(&mut self, messages: &'a [FeedMessage], before: u64) -> &'a [FeedMessage] {
        let open = |message: &FeedMessage| {
            let id = request_id_in(&message.json)?;
            self.pending.iter().position(|request| request.request_id == id)
        };
        if self.pending.is_empty() {
            return messages;
        }
        let Some((at, oldest)) = messages.iter().enumerate().find_map(|(at, message)| Some((at, open(message)?)))
        else {
            return messages;
        };
        // All later requests come after it.
        self.pending.truncate(oldest);
        self.history = before + at as u64;
        messages.get(..at).unwrap_or_default()
    }
}

/// The outgoing side of a connection, and what the consumer was last sent of the shared state.
struct ConsumerStream<'a> {
    sink: &'a mut SocketSink,
    session: Arc<SharedSession>,
    changes: watch::Receiver<()>,
    present: Vec<Consumer>,
    waiting: Option<Arc<WaitingPrompt>>,
    /// The number of the last waiting prompt that was sent, or that was over before.
    known: u64,
    /// The waiting prompt that was last reported as sent.
    sent: Option<u64>,
}

enum StreamEnd {
    Gone,
    Deleted,
    Session(Problem),
}

impl From<axum::Error> for StreamEnd {
    fn from(_: axum::Error) -> Self {
        Self::Gone
    }
}

impl From<Problem> for StreamEnd {
    fn from(problem: Problem) -> Self {
        if problem.code == "no_session" { Self::Deleted } else { Self::Session(problem) }
    }
}

impl ConsumerStream<'_> {
    async fn run(&mut self, replay: SessionReplay, inbox: mpsc::Receiver<ServerMessage>) -> CloseReason {
        let Err(end) = self.send_all(replay, inbox).await;
        match end {
            StreamEnd::Gone => CloseReason::Gone,
            StreamEnd::Deleted => {
                let (subtype, metadata) = ("session_deleted".to_owned(), VerbatimFields::default());
                // The consumer may have disconnected meanwhile.
                self.send(ServerMessage::SessionLifecycle { subtype, metadata }).await.ok();
                CloseReason::Deleted
            }
            StreamEnd::Session(problem) => CloseReason::Failed(problem.detail.into()),
        }
    }

    async fn send_all(
        &mut self,
        mut replay: SessionReplay,
        mut inbox: mpsc::Receiver<ServerMessage>,
    ) -> Result<std::convert::Infallible, StreamEnd> {
        for message in std::mem::take(&mut replay.greeting) {
            self.send(message).await?;
        }
        self.send_presence().await?;
        let rest = self.send_history(&mut replay).await?;
        for request in std::mem::take(&mut replay.pending) {
            self.send(request_message(request)).await?;
        }
        self.send_waiting_prompt().await?;
        if let Some((slice, sent)) = rest {
            self.send_slice(&slice, sent).await?;
        }
        loop {
            let quiet = sleep_until(Instant::now() + PING_INTERVAL);
            tokio::select! {
                Some(reply) = inbox.recv() => self.send(reply).await?,
                slice = replay.feed.next() => {
                    let slice = slice?;
                    // A waiting prompt is reported as sent before its turn.
                    self.send_changed_state().await?;
                    self.send_slice(&slice, 0).await?;
                }
                Ok(()) = self.changes.changed() => self.send_state().await?,
                () = quiet => self.sink.send(Message::Ping(Bytes::new())).await?,
            }
        }
    }

    /// Sends the history in pieces. The last slice may extend beyond it: returns that slice and how much of it was
    /// sent.
    async fn send_history(&mut self, replay: &mut SessionReplay) -> Result<Option<(MessageSlice, usize)>, StreamEnd> {
        while replay.sent < replay.history {
            let slice = replay.feed.next().await?;
            let left = usize::try_from(replay.history - slice.first_offset()).unwrap_or(usize::MAX);
            let past = slice.messages().get(..left.min(slice.messages().len())).unwrap_or_default();
            let past = replay.split_history(past, slice.first_offset());
            let messages =
                past.iter().filter_map(|message| serde_json::from_slice(&message.json).ok().map(VerbatimJson));
            let messages: Vec<_> = messages.collect();
            replay.sent = slice.first_offset() + past.len() as u64;
            let (sent, more) = (past.len(), replay.sent < replay.history);
            self.send(ServerMessage::MessageHistory { messages, more }).await?;
            if sent < slice.messages().len() {
                return Ok(Some((slice, sent)));
            }
            if !more {
                return Ok(None);
            }
        }
        self.send(ServerMessage::MessageHistory { messages: Vec::new(), more: false }).await?;
        Ok(None)
    }

    /// Sends new messages, without those that were sent.
    async fn send_slice(&mut self, slice: &MessageSlice, skip: usize) -> Result<(), StreamEnd> {
        for message in slice.messages().get(skip..).unwrap_or_default() {
            self.sink.feed(text_message(message.json.clone())).await?;
        }
        Ok(self.sink.flush().await?)
    }

    /// Sends the shared state if it has changed.
    async fn send_changed_state(&mut self) -> Result<(), StreamEnd> {
        if self.changes.has_changed().unwrap_or_default() {
            self.changes.mark_unchanged();
            self.send_state().await?;
        }
        Ok(())
    }

    async fn send_state(&mut self) -> Result<(), StreamEnd> {
        self.send_presence().await?;
        self.send_waiting_prompt().await?;
        if self.session.state().deleted { Err(StreamEnd::Deleted) } else { Ok(()) }
    }

    async fn send_presence(&mut self) -> Result<(), StreamEnd> {
        let present = self.session.state().present();
        if present != self.present {
            self.present.clone_from(&present);
            self.send(ServerMessage::PresenceUpdate { consumers: present }).await?;
        }
        Ok(())
    }

    /// Reports what became of the waiting prompt since the last report.
    async fn send_waiting_prompt(&mut self) -> Result<(), StreamEnd> {
        let SharedSessionState { waiting: now, outcomes, waited, .. } = self.session.state();
        let before = std::mem::replace(&mut self.waiting, now.clone());
        let still_waits = |prompt: &Arc<WaitingPrompt>| now.as_ref().is_some_and(|now| now.number == prompt.number);
        if let Some(ended) = before.as_ref().filter(|before| !still_waits(before)) {
            self.send_outcome(ended.number, &outcomes).await?;
        } else if let Some(sent) =
            self.sent.filter(|sent| !matches!(outcome_of(*sent, &outcomes), WaitingPromptOutcome::Sent))
        {
            self.send_outcome(sent, &outcomes).await?;
        }
        // Those that came and went since the last report.
        let known = std::mem::replace(&mut self.known, waited);
        for (passed, _) in outcomes.iter().filter(|(passed, _)| passed.number > known) {
            self.send(passed.to_message()).await?;
            self.send_outcome(passed.number, &outcomes).await?;
        }
        match (before.filter(|before| still_waits(before)), now) {
            (None, Some(now)) => self.send(now.to_message()).await,
            (Some(before), Some(now)) if before.changed != now.changed => self.send(now.to_update_message()).await,
            _ => Ok(()),
        }
    }

    async fn send_outcome(
        &mut self,
        number: u64,
        outcomes: &VecDeque<(Arc<WaitingPrompt>, WaitingPromptOutcome)>,
    ) -> Result<(), StreamEnd> {
        let outcome = outcome_of(number, outcomes);
        self.sent = (outcome == WaitingPromptOutcome::Sent).then_some(number);
        self.send(outcome.to_message()).await
    }

    async fn send(&mut self, message: ServerMessage) -> Result<(), StreamEnd> {
        let json = serde_json::to_string(&Sequenced::from(message)).unwrap_or_default();
        Ok(self.sink.send(Message::Text(json.into())).await?)
    }
}

fn outcome_of(number: u64, outcomes: &VecDeque<(Arc<WaitingPrompt>, WaitingPromptOutcome)>) -> WaitingPromptOutcome {
    outcomes
        .iter()
        .find(|(ended, _)| ended.number == number)
        .map_or(WaitingPromptOutcome::Sent, |(_, outcome)| outcome.clone())
}

/// Returns a message with an open request, apart from the history.
fn request_message(request: Permission) -> ServerMessage {
    let request = Box::new(request);
    match request.subtype.as_str() {
        "can_use_tool" => ServerMessage::PermissionRequest { request },
        _ => ServerMessage::AgentRequest { request },
    }
}

/// Returns the ID of the request in a message.
fn request_id_in(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct RequestHead {
        request: RequestId,
    }
    #[derive(Deserialize)]
    struct RequestId {
        request_id: String,
    }
    serde_json::from_slice::<RequestHead>(message).ok().map(|head| head.request.request_id)
}

/// Receives the messages of a consumer until it disconnects.
async fn receive_messages(
    receiver: &mut SocketReceiver,
    messages: &Arc<ConsumerMessages>,
    replies: mpsc::Sender<ServerMessage>,
) {
    while let Some(text) = receiver.next().await {
        let messages = messages.clone();
        // A message is handled completely even if the consumer disconnects.
        let handling = tokio::spawn(async move { messages.handle_message(&text).await });
        if let Ok(Some(reply)) = handling.await
            && replies.send(reply).await.is_err()
        {
            return;
        }
    }
}
