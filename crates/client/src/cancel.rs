//! Cancelling a session from anywhere in a program.

use std::{sync::Arc, time::Duration};

use futures_util::stream::{StreamExt as _, unfold};
use switchboard_event::Event;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{AgentError, AgentErrorKind, Messages, Order, Transport};

/// Cancels the sessions that it was given to. All copies are one.
#[derive(Clone, Debug)]
pub struct CancelToken(Arc<watch::Sender<bool>>);

impl Default for CancelToken {
    fn default() -> Self {
        Self::new()
    }
}

impl CancelToken {
    /// A token that nobody has used.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }

    /// Cancels: sessions end natively, and their streams with them.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// It was used.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is used.
    pub async fn cancelled(&self) {
        // It cannot be gone: we have it.
        drop(self.0.subscribe().wait_for(|cancelled| *cancelled).await);
    }
}

/// How long a session may take to end when it is cancelled.
const PATIENCE: Duration = Duration::from_secs(15);

/// What became of cancelling.
type Told = Option<Result<(), AgentError>>;

/// Cancels one session when its token is used, for as long as somebody has the session.
pub struct Watch {
    told: watch::Receiver<Told>,
    _task: JoinSet<()>,
}

impl Watch {
    /// Watches a token. Must be called inside of a tokio runtime.
    pub fn new(token: CancelToken, transport: Arc<dyn Transport>, session: String) -> Self {
        let (tell, told) = watch::channel(None);
        let mut task = JoinSet::new();
        task.spawn(async move {
            token.cancelled().await;
            tell.send_replace(Some(transport.order(&session, Order::Cancel).await));
            // Whoever waits for more waits for ever.
            std::future::pending::<()>().await;
        });
        Self { told, _task: task }
    }
}

/// The same events, but that the stream ends soon after the session was cancelled, whatever the session does.
pub fn ending(log: Messages<Event>, watch: Arc<Watch>) -> Messages<Event> {
    let told = watch.told.clone();
    let ending = Ending { log, told, until: None, over: false, _watch: watch };
    unfold(ending, |mut ending| async move { Some((ending.next().await?, ending)) }).boxed()
}

struct Ending {
    log: Messages<Event>,
    told: watch::Receiver<Told>,
    /// When it was cancelled, and the patience that is left.
    until: Option<Instant>,
    over: bool,
    _watch: Arc<Watch>,
}

impl Ending {
    async fn next(&mut self) -> Option<Result<Event, AgentError>> {
        if self.over {
            return None;
        }
        loop {
            let until = self.until;
            let error = tokio::select! {
                biased;
                event = self.log.next() => return event,
                told = told(&mut self.told), if until.is_none() => match told {
                    Ok(()) => {
                        self.until = Some(Instant::now() + PATIENCE);
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

async fn told(told: &mut watch::Receiver<Told>) -> Result<(), AgentError> {
    let known = told.wait_for(Option::is_some).await.ok().and_then(|told| told.clone());
    match known {
        Some(result) => result,
        None => std::future::pending().await,
    }
}
