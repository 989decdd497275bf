//! A handle to one session, to follow and control it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, Stream, StreamExt as _, unfold};
use switchboard_event::{Event, Id};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::{
    AgentError, AgentErrorKind, AgentEvent, Approval, ApprovalAnswer, ApprovalDecision, FollowUpRequest, MessageStream,
    SessionAction, SessionView, Transport, typed,
};

/// A handle to a session. Dropping it does not end the session.
#[derive(Clone)]
pub struct AgentSession {
    transport: Arc<dyn Transport>,
    id: Id,
    agent_type: String,
    /// Events up to this `seq` are not returned.
    begin: u64,
    watch: Option<Arc<CancelWatch>>,
}

impl AgentSession {
    pub(crate) fn new(transport: Arc<dyn Transport>, view: &SessionView, begin: u64) -> Self {
        Self { transport, id: view.id.clone(), agent_type: view.agent_type.clone(), begin, watch: None }
    }

    /// Cancels the session when the token is cancelled. Must be called within a tokio runtime.
    #[must_use]
    pub fn with_cancel(mut self, token: &CancelToken) -> Self {
        let watch = CancelWatch::new(token.clone(), self.transport.clone(), self.id.to_string());
        self.watch = Some(Arc::new(watch));
        self
    }

    /// Returns the session ID.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the agent.
    #[must_use]
    pub fn agent_type(&self) -> &str {
        &self.agent_type
    }

    /// Returns the events of the session, each once and in order, until the session has ended. Starts at the beginning,
    /// or at the new run if the session was resumed. Nothing follows an error.
    #[must_use]
    pub fn events(&self) -> MessageStream<AgentEvent> {
        typed::typed_events(self.log(), self.begin)
    }

    /// Returns the events after a `seq`, for a program that reconnects. Earlier events are read but not returned.
    #[must_use]
    pub fn events_after(&self, seq: u64) -> MessageStream<AgentEvent> {
        typed::typed_events(self.log_after(self.begin.min(seq)), seq)
    }

    /// Returns the events as they are in the log, with the agent's records verbatim.
    #[must_use]
    pub fn log(&self) -> MessageStream<Event> {
        self.log_after(self.begin)
    }

    /// Returns the events of the log after a `seq`.
    #[must_use]
    pub fn log_after(&self, seq: u64) -> MessageStream<Event> {
        let log = self.transport.follow_events(&self.id, seq);
        let log = match &self.watch {
            Some(watch) => end_after_cancel(log, watch.clone()),
            None => log,
        };
        let agent = self.agent_type.clone();
        log.map(move |event| event.map_err(|error| error.with_agent(&agent))).boxed()
    }

    /// Returns the current view of the session.
    ///
    /// # Errors
    /// Fails if the transport fails. The methods below fail in the same way.
    pub async fn view(&self) -> Result<SessionView, AgentError> {
        self.transport.get_session(&self.id).await
    }

    /// Lists the open requests of the session.
    pub async fn list_approvals(&self) -> Result<Vec<Approval>, AgentError> {
        self.transport.list_approvals(&self.id).await
    }

    /// Sends another prompt: it joins the turn or is queued, depending on the agent. An ended session is resumed.
    pub async fn prompt(&self, prompt: impl Into<FollowUpRequest>) -> Result<(), AgentError> {
        self.send_action(SessionAction::Prompt(prompt.into())).await
    }

    /// Allows a request of the agent, this once.
    pub async fn approve(&self, request: &str) -> Result<(), AgentError> {
        self.answer(request, ApprovalDecision::Accept).await
    }

    /// Declines a request; the agent continues without it and receives the reason.
    pub async fn decline(&self, request: &str, reason: Option<&str>) -> Result<(), AgentError> {
        let reason = reason.map(str::to_owned);
        self.answer(request, ApprovalAnswer { reason, ..ApprovalAnswer::from(ApprovalDecision::Decline) }).await
    }

    /// Answers a request. The first answer wins.
    pub async fn answer(&self, request: &str, answer: impl Into<ApprovalAnswer>) -> Result<(), AgentError> {
        self.send_action(SessionAction::Answer { request: Id::from(request), answer: answer.into() }).await
    }

    /// Stops the turn; the session stays open.
    pub async fn interrupt(&self) -> Result<(), AgentError> {
        self.send_action(SessionAction::Interrupt).await
    }

    /// Ends the session.
    pub async fn cancel(&self) -> Result<(), AgentError> {
        self.send_action(SessionAction::Cancel).await
    }

    /// Performs an action on the session.
    pub async fn send_action(&self, order: SessionAction) -> Result<(), AgentError> {
        self.transport.send_action(&self.id, order).await.map_err(|error| error.with_agent(&self.agent_type))
    }
}

impl fmt::Debug for AgentSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("agent_type", &self.agent_type).finish_non_exhaustive()
    }
}

/// Cancels the sessions that it is attached to. Clones share one state.
#[derive(Clone, Debug)]
pub struct CancelToken(Arc<watch::Sender<bool>>);

impl Default for CancelToken {
    fn default() -> Self {
        Self::new()
    }
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }

    /// Cancels: the agents' sessions end natively, and their streams with them.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Returns whether the token was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the token is cancelled.
    pub async fn cancelled(&self) {
        // The sender cannot be dropped: this token holds it.
        drop(self.0.subscribe().wait_for(|cancelled| *cancelled).await);
    }
}

/// The maximum time for a cancelled session to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(15);

/// The result of a cancellation, once known.
type CancelOutcome = Option<Result<(), AgentError>>;

/// Cancels one session when its token is cancelled, as long as a handle to the session exists.
pub struct CancelWatch {
    outcome: watch::Receiver<CancelOutcome>,
    _task: JoinSet<()>,
}

impl CancelWatch {
    /// Starts to watch a token. Must be called within a tokio runtime.
    pub fn new(token: CancelToken, transport: Arc<dyn Transport>, session: String) -> Self {
        let (tell, outcome) = watch::channel(None);
        let mut task = JoinSet::new();
        task.spawn(async move {
            token.cancelled().await;
            tell.send_replace(Some(transport.send_action(&session, SessionAction::Cancel).await));
            // Keeps the sender alive, so that receivers do not see it closed.
            std::future::pending::<()>().await;
        });
        Self { outcome, _task: task }
    }
}

/// Returns the same events, but ends the stream soon after a cancellation even if the session does not end.
pub fn end_after_cancel(log: MessageStream<Event>, watch: Arc<CancelWatch>) -> MessageStream<Event> {
    let outcome = watch.outcome.clone();
    let ending = CancellableLog { log, outcome, until: None, over: false, _watch: watch };
    unfold(ending, |mut ending| async move { Some((ending.next().await?, ending)) }).boxed()
}

struct CancellableLog {
    log: MessageStream<Event>,
    outcome: watch::Receiver<CancelOutcome>,
    /// The deadline for the session to end, once it is cancelled.
    until: Option<Instant>,
    over: bool,
    _watch: Arc<CancelWatch>,
}

impl CancellableLog {
    async fn next(&mut self) -> Option<Result<Event, AgentError>> {
        if self.over {
            return None;
        }
        loop {
            let until = self.until;
            let error = tokio::select! {
                biased;
                event = self.log.next() => return event,
                outcome = wait_for_outcome(&mut self.outcome), if until.is_none() => match outcome {
                    Ok(()) => {
                        self.until = Some(Instant::now() + CANCEL_TIMEOUT);
                        continue;
                    }
                    Err(error) => error,
                },
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                    AgentError::new(AgentErrorKind::Timeout, "the session was cancelled, and did not end in time")
                }
            };
            self.over = true;
            return Some(Err(error));
        }
    }
}

async fn wait_for_outcome(outcome: &mut watch::Receiver<CancelOutcome>) -> Result<(), AgentError> {
    let known = outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
    match known {
        Some(result) => result,
        None => std::future::pending().await,
    }
}

/// Reads a stream ahead of its consumer and returns the items in batches.
///
/// A full buffer stops reading until items are taken out. Nothing is dropped: a sender that is too fast waits, and a
/// server keeps unsent events in its log.
#[derive(Clone, Copy, Debug)]
pub struct EventBuffer {
    /// The maximum number of buffered items.
    pub max_size: usize,
    /// The time that the first item of a batch waits for others. A full batch does not wait.
    pub flush_interval: Duration,
}

impl Default for EventBuffer {
    fn default() -> Self {
        Self { max_size: 1024, flush_interval: Duration::from_millis(50) }
    }
}

impl EventBuffer {
    /// Returns the same items, each as soon as its batch is complete. Must be called within a tokio runtime.
    pub fn buffer<T: Send + 'static>(&self, source: impl Stream<Item = T> + Send + 'static) -> BoxStream<'static, T> {
        self.batches(source).flat_map(futures_util::stream::iter).boxed()
    }

    /// Returns the same items in batches, none empty and none larger than the buffer. Must be called within a tokio
    /// runtime.
    pub fn batches<T: Send + 'static>(
        &self,
        source: impl Stream<Item = T> + Send + 'static,
    ) -> BoxStream<'static, Vec<T>> {
        let room = Arc::new(Semaphore::new(self.max_size.max(1)));
        let (items, held) = mpsc::unbounded_channel();
        let mut task = JoinSet::new();
        task.spawn(fill_buffer(source, room, items));
        let batches =
            BatchStream { held, max_size: self.max_size.max(1), flush_interval: self.flush_interval, _task: task };
        unfold(batches, |mut batches| async move { Some((batches.next().await?, batches)) }).boxed()
    }
}

/// An item and the permit that it holds until it is returned.
type BufferedItem<T> = (T, OwnedSemaphorePermit);

/// Fills the buffer. The permit is acquired before reading, so that an item always fits.
async fn fill_buffer<T>(
    source: impl Stream<Item = T>,
    room: Arc<Semaphore>,
    items: mpsc::UnboundedSender<BufferedItem<T>>,
) {
    let mut source = std::pin::pin!(source);
    while let Ok(place) = room.clone().acquire_owned().await {
        let Some(item) = source.next().await else { return };
        if items.send((item, place)).is_err() {
            return;
        }
    }
}

struct BatchStream<T> {
    held: mpsc::UnboundedReceiver<BufferedItem<T>>,
    max_size: usize,
    flush_interval: Duration,
    /// The reading task, aborted on drop.
    _task: JoinSet<()>,
}

impl<T> BatchStream<T> {
    async fn next(&mut self) -> Option<Vec<T>> {
        let mut batch = vec![self.held.recv().await?];
        let flush = Instant::now() + self.flush_interval;
        while batch.len() < self.max_size
            && let Ok(Some(held)) = timeout_at(flush, self.held.recv()).await
        {
            batch.push(held);
        }
        Some(batch.into_iter().map(|(item, _)| item).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::stream::{StreamExt as _, iter, pending};

    use super::EventBuffer;

    const ONE_HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn nothing_is_lost_and_nothing_is_reordered() {
        for max_size in [0, 1, 7, 1000] {
            let buffer = EventBuffer { max_size, flush_interval: Duration::from_millis(1) };
            let batches: Vec<Vec<u32>> = buffer.batches(iter(0..100)).collect().await;
            assert!(batches.iter().all(|batch| !batch.is_empty() && batch.len() <= max_size.max(1)), "{batches:?}");
            assert_eq!(batches.concat(), (0..100).collect::<Vec<_>>());
            assert_eq!(buffer.buffer(iter(0..100)).count().await, 100);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_buffer_stops_the_source() {
        let read = Arc::new(AtomicUsize::new(0));
        let count = read.clone();
        let source = iter(0..100).inspect(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let mut batches = EventBuffer { max_size: 5, flush_interval: ONE_HOUR }.batches(source);
        // The paused clock only advances once all tasks are idle.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(read.load(Ordering::SeqCst), 5);
        assert_eq!(batches.next().await, Some(vec![0, 1, 2, 3, 4]));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(read.load(Ordering::SeqCst), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_there_is_given_after_the_interval() {
        let buffer = EventBuffer { max_size: 100, flush_interval: Duration::from_millis(200) };
        let mut batches = buffer.batches(iter(0..3).chain(pending()));
        let begin = tokio::time::Instant::now();
        assert_eq!(batches.next().await, Some(vec![0, 1, 2]));
        assert_eq!(begin.elapsed(), Duration::from_millis(200));
    }
}
