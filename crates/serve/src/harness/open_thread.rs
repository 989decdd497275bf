//! A thread that is open on a connection: what the client was sent of it, its open requests, and the task that sends
//! its messages: first the history of a resumed thread, then new messages across all its runs.

use std::{collections::HashMap, convert::Infallible, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use switchboard_client::{ApprovalAnswer, ApprovalDecision};
use switchboard_dialects::{
    Dialect, DialectSurface, default_dialect,
    harness::{
        Decision, HarnessMessageKind, HarnessRequestId, HarnessRequestKind, RequestVerdict, TurnStartResult,
        classify_message, mark_replayed, replay_completed, result_response, thread_started_to_updated, warning_notice,
        with_message_id, with_request_id,
    },
};
use switchboard_engine::TailRead;
use switchboard_event::{Id, Origin};
use tokio::{
    sync::{oneshot, watch},
    task::AbortHandle,
};

use super::{connection::HarnessConnection, transport::ClientGone};
use crate::{
    Problem,
    conversation::Conversation,
    feed::{FeedMessage, FeedStart},
};

pub struct OpenThread {
    pub conversation: Conversation,
    progress: Mutex<ThreadProgress>,
    /// How many of its runs and turns have ended, according to the sent messages.
    ends: watch::Sender<EndedCounts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedCounts {
    pub runs: u32,
    pub turns: u32,
}

/// What the client was sent of a thread.
#[derive(Default)]
struct ThreadProgress {
    /// The current turn.
    turn: Option<String>,
    /// The request that waits for the next turn.
    starting: Option<PendingTurnStart>,
    messages: Option<AbortHandle>,
}

/// A `turn/start` whose turn has not begun.
pub struct PendingTurnStart {
    /// The ID of the request.
    pub id: HarnessRequestId,
    /// Notified when the request was answered.
    pub answered: oneshot::Sender<()>,
}

impl OpenThread {
    pub fn new(conversation: Conversation) -> Self {
        Self { conversation, progress: Mutex::default(), ends: watch::Sender::default() }
    }

    /// Returns the current turn.
    pub fn turn(&self) -> Option<String> {
        self.progress.lock().turn.clone()
    }

    /// Marks a turn as started. Returns the request that waits for it, if the turn was caused by a prompt.
    pub fn start_turn(&self, turn: String, prompted: bool) -> Option<PendingTurnStart> {
        let mut progress = self.progress.lock();
        progress.turn = Some(turn);
        if prompted { progress.starting.take() } else { None }
    }

    pub fn end_turn(&self) {
        self.progress.lock().turn = None;
        self.ends.send_modify(|ends| ends.turns += 1);
    }

    pub fn end_run(&self) {
        self.ends.send_modify(|ends| ends.runs += 1);
    }

    pub fn ended_counts(&self) -> watch::Receiver<EndedCounts> {
        self.ends.subscribe()
    }

    /// Makes the next turn the answer to a request.
    pub fn expect_turn(&self, starting: PendingTurnStart) {
        self.progress.lock().starting = Some(starting);
    }

    /// Stops waiting for a turn. Returns false if the request was answered already.
    pub fn stop_expecting_turn(&self) -> bool {
        self.progress.lock().starting.take().is_some()
    }

    fn set_messages(&self, messages: AbortHandle) {
        self.progress.lock().messages = Some(messages);
    }

    /// Stops the messages, because the thread was opened again.
    pub fn stop_messages(&self) {
        if let Some(messages) = self.progress.lock().messages.take() {
            messages.abort();
        }
    }
}

/// The open requests of a connection, by their ID there. IDs of requests are unique within a session; on a connection
/// with several threads, an ID that is taken is replaced.
#[derive(Default)]
pub struct HarnessRequests(Mutex<HashMap<String, HarnessRequest>>);

#[derive(Clone)]
struct HarnessRequest {
    thread: Arc<OpenThread>,
    request: Id,
    asked: HarnessRequestKind,
}

impl HarnessRequest {
    fn is(&self, session: &Id, request: &Id) -> bool {
        self.thread.conversation.id() == session && self.request == *request
    }
}

impl HarnessRequests {
    /// Adds a request; returns its ID on this connection.
    pub fn open(&self, thread: &Arc<OpenThread>, request: Id, asked: HarnessRequestKind) -> String {
        let mut requests = self.0.lock();
        let session = thread.conversation.id();
        let taken = requests.get(&*request).is_some_and(|known| !known.is(session, &request));
        let id = if taken { format!("{request}@{session}") } else { request.to_string() };
        requests.insert(id.clone(), HarnessRequest { thread: thread.clone(), request, asked });
        id
    }

    /// Removes a request; returns its ID on this connection.
    pub fn close(&self, session: &Id, request: &Id) -> Option<String> {
        let mut requests = self.0.lock();
        let found = [request.to_string(), format!("{request}@{session}")];
        let id = found.into_iter().find(|id| requests.get(id).is_some_and(|known| known.is(session, request)))?;
        requests.remove(&id);
        Some(id)
    }

    fn find(&self, id: &str) -> Option<HarnessRequest> {
        self.0.lock().get(id).cloned()
    }
}

impl HarnessConnection {
    /// Handles the client's response to a request. A request that is not open needs none.
    pub(super) async fn handle_response(&self, id: &str, result: Result<Box<RawValue>, String>) {
        let Some(HarnessRequest { thread, request, asked }) = self.requests().find(id) else { return };
        let session = thread.conversation.id();
        if self.check_may_control().await.is_err() {
            return;
        }
        let response = result.as_deref().map_err(String::as_str);
        let error = match RequestVerdict::read_response(asked, response) {
            Err(error) => error,
            Ok(verdict) => match thread.conversation.answer(&request, &to_approval_answer(verdict)).await {
                Err(problem) if problem.code == "bad_answer" || problem.code == "unsupported" => problem.detail.into(),
                // It was answered otherwise or withdrawn, which its resolution reports.
                _ => return,
            },
        };
        let text = format!("invalid response to {id}, the request is still open: {error}");
        self.send(warning_notice(session, &text)).await;
    }
}

fn to_approval_answer(verdict: RequestVerdict) -> ApprovalAnswer {
    let RequestVerdict { decision, option, answers, input, message } = verdict;
    let decision = match decision {
        Decision::Accept => ApprovalDecision::Accept,
        Decision::AcceptForSession => ApprovalDecision::AcceptForSession,
        Decision::Decline => ApprovalDecision::Decline,
        Decision::Cancel => ApprovalDecision::Cancel,
    };
    ApprovalAnswer { decision, option, reason: message, input, answers }
}

/// The open requests of the history, in order.
type UnansweredRequests = Vec<(Id, HarnessRequestKind, Bytes)>;

impl HarnessConnection {
    /// Sends what happens in a thread, after its history up to an event if there is one.
    pub(super) fn start_messages(&self, thread: &Arc<OpenThread>, history: Option<u64>) {
        let (connection, sent) = (self.clone(), thread.clone());
        let task = tokio::spawn(async move {
            tokio::select! {
                () = connection.outbox().wait_until_closed() => {}
                end = connection.send_messages(&sent, history) => match end {
                    ForwardingEnd::ClientGone => {}
                    ForwardingEnd::Failed(problem) => connection.close_thread(&sent, &problem).await,
                },
            }
        });
        thread.set_messages(task.abort_handle());
    }

    /// Sends messages until that fails; returns why.
    async fn send_messages(&self, thread: &Arc<OpenThread>, history: Option<u64>) -> ForwardingEnd {
        match self.send_all(thread, history).await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn send_all(&self, thread: &Arc<OpenThread>, history: Option<u64>) -> Result<Infallible, ForwardingEnd> {
        let start = match history {
            Some(head) => self.send_history(thread, head).await?,
            None => 0,
        };
        let mut messages = thread.conversation.follow_messages(dialect(), FeedStart::AfterEvent(start)).await?;
        loop {
            let slice = messages.next().await?;
            for message in slice.messages() {
                self.send_message(thread, message.json.clone()).await?;
            }
        }
    }

    /// Sends the history up to an event; returns the last event sent. Open requests come last.
    async fn send_history(&self, thread: &Arc<OpenThread>, head: u64) -> Result<u64, ForwardingEnd> {
        let id = thread.conversation.id();
        let mut reader = self.service().open_reader(id, dialect(), FeedStart::AfterEvent(0)).await?;
        let (mut open, mut turn) = (UnansweredRequests::new(), None);
        while reader.seen() < head {
            let TailRead::Events(slice) = reader.step().await.map_err(Problem::from)? else { break };
            for message in slice.messages().iter().take_while(|message| message.seq <= head) {
                self.send_past_message(thread, message, &mut open, &mut turn).await?;
            }
        }
        // A turn of the history is only current if it has not ended.
        if let Some(turn) = turn {
            thread.start_turn(turn, false);
        }
        self.outbox().send(replay_completed(id)).await?;
        for (request, asked, message) in open {
            self.send_request(thread, request, asked, message).await?;
        }
        Ok(reader.seen().min(head))
    }

    async fn send_past_message(
        &self,
        thread: &OpenThread,
        message: &FeedMessage,
        open: &mut UnansweredRequests,
        turn: &mut Option<String>,
    ) -> Result<(), ClientGone> {
        let json = &message.json;
        match classify_message(json) {
            HarnessMessageKind::Request { id, kind } => {
                open.push((id, kind, json.clone()));
                return Ok(());
            }
            HarnessMessageKind::RequestResolved { request } => open.retain(|(asked, ..)| *asked != request),
            HarnessMessageKind::TurnStarted { id, .. } => *turn = Some(id),
            HarnessMessageKind::TurnCompleted => *turn = None,
            HarnessMessageKind::ThreadEnded => thread.end_run(),
            HarnessMessageKind::ThreadStarted => {
                return self.outbox().send(mark_replayed(&thread_started_to_updated(json))).await;
            }
            HarnessMessageKind::ThreadUpdated | HarnessMessageKind::Other => {}
        }
        self.outbox().send(mark_replayed(json)).await
    }

    /// Sends a new message.
    async fn send_message(&self, thread: &Arc<OpenThread>, json: Bytes) -> Result<(), ClientGone> {
        match classify_message(&json) {
            HarnessMessageKind::ThreadStarted => return self.outbox().send(thread_started_to_updated(&json)).await,
            HarnessMessageKind::Request { id, kind } => {
                return self.send_request(thread, id, kind, json.clone()).await;
            }
            HarnessMessageKind::RequestResolved { request } => {
                if let Some(id) = self.requests().close(thread.conversation.id(), &request).filter(|id| request != **id)
                {
                    return self.outbox().send(with_request_id(&json, &id)).await;
                }
            }
            HarnessMessageKind::TurnStarted { id, turn, origin } => {
                if let Some(starting) = thread.start_turn(id, origin != Origin::Background) {
                    self.outbox().send(result_response(&starting.id, TurnStartResult { turn })).await?;
                    // The requester may be gone.
                    starting.answered.send(()).ok();
                }
            }
            // Before the message is sent, because the client may start the next turn in response.
            HarnessMessageKind::TurnCompleted => thread.end_turn(),
            HarnessMessageKind::ThreadEnded => thread.end_run(),
            HarnessMessageKind::ThreadUpdated | HarnessMessageKind::Other => {}
        }
        self.outbox().send(json).await
    }

    async fn send_request(
        &self,
        thread: &Arc<OpenThread>,
        request: Id,
        asked: HarnessRequestKind,
        json: Bytes,
    ) -> Result<(), ClientGone> {
        let id = self.requests().open(thread, request.clone(), asked);
        let json = if request == *id { json } else { with_message_id(&json, &id).into() };
        self.outbox().send(json).await
    }

    /// Closes a thread that can no longer be followed: it was deleted, or the log cannot be read.
    async fn close_thread(&self, thread: &OpenThread, problem: &Problem) {
        let id = thread.conversation.id();
        self.threads().remove(id);
        let text = format!("thread {id} is no longer open on this connection: {}", problem.detail);
        self.send(warning_notice(id, &text)).await;
    }
}

enum ForwardingEnd {
    ClientGone,
    Failed(Problem),
}

impl From<ClientGone> for ForwardingEnd {
    fn from(_: ClientGone) -> Self {
        Self::ClientGone
    }
}

impl From<Problem> for ForwardingEnd {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

fn dialect() -> &'static Dialect {
    default_dialect(DialectSurface::Harness)
}
