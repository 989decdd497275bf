//! Cancels a session from anywhere in a program.

use std::{sync::Arc, time::Duration};

use futures_util::stream::{StreamExt as _, unfold};
use switchboard_event::Event;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{AgentError, AgentErrorKind, MessageStream, SessionAction, Transport};

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
    told: watch::Receiver<CancelOutcome>,
    _task: JoinSet<()>,
}

impl CancelWatch {
    /// Starts to watch a token. Must be called within a tokio runtime.
    pub fn new(token: CancelToken, transport: Arc<dyn Transport>, session: String) -> Self {
        let (tell, told) = watch::channel(None);
        let mut task = JoinSet::new();
        task.spawn(async move {
            token.cancelled().await;
            tell.send_replace(Some(transport.send_action(&session, SessionAction::Cancel).await));
            // Keeps the sender alive, so that receivers do not see it closed.
            std::future::pending::<()>().await;
        });
        Self { told, _task: task }
    }
}

/// Returns the same events, but ends the stream soon after a cancellation even if the session does not end.
pub fn end_after_cancel(log: MessageStream<Event>, watch: Arc<CancelWatch>) -> MessageStream<Event> {
    let told = watch.told.clone();
    let ending = CancellableLog { log, told, until: None, over: false, _watch: watch };
    unfold(ending, |mut ending| async move { Some((ending.next().await?, ending)) }).boxed()
}

struct CancellableLog {
    log: MessageStream<Event>,
    told: watch::Receiver<CancelOutcome>,
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
                told = wait_for_outcome(&mut self.told), if until.is_none() => match told {
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

async fn wait_for_outcome(told: &mut watch::Receiver<CancelOutcome>) -> Result<(), AgentError> {
    let known = told.wait_for(Option::is_some).await.ok().and_then(|told| told.clone());
    match known {
        Some(result) => result,
        None => std::future::pending().await,
    }
}
