//! One reader of a session: it catches up by itself, then shares the projection of the others.

use std::{sync::Arc, time::Duration};

use switchboard_engine::TailRead;
use switchboard_store::StoreError;
use tokio::{task::JoinHandle, time::sleep};

use super::{
    FeedMessage, MessageBatch,
    catch_up::CatchUpReader,
    read_budget::{HeldMessages, ReadBudget},
    shared_projection::{NotShared, SharedProjection},
};

/// The interval of attempts while the log of a cluster cannot be reached.
const UNREACHABLE_RETRY_INTERVAL: Duration = Duration::from_millis(500);

pub struct SessionReader {
    state: ReaderState,
    shared: Arc<SharedProjection>,
    budget: Arc<ReadBudget>,
    /// The last event whose messages were returned.
    seen: u64,
    /// The number of messages of the session up to it.
    count: u64,
}

enum ReaderState {
    CatchingUp(Box<CatchUpReader>),
    /// A read is in progress on a thread that may block. The handle is kept here, so that dropping the caller's future
    /// loses nothing.
    Reading(JoinHandle<CatchUpResult>),
    /// It shares the projection. Its own reader is kept for when it falls behind.
    Live(Box<CatchUpReader>),
    Ended,
}

type CatchUpResult = (Box<CatchUpReader>, Result<TailRead<MessageBatch>, StoreError>);

/// The messages of a batch that are for this reader.
#[derive(Clone)]
pub struct MessageSlice {
    batch: Arc<MessageBatch>,
    first: usize,
}

impl MessageSlice {
    pub fn new(batch: Arc<MessageBatch>, first: usize) -> Self {
        Self { batch, first }
    }

    pub(super) fn bytes(&self) -> usize {
        self.batch.bytes()
    }

    pub fn messages(&self) -> &[FeedMessage] {
        self.batch.messages.get(self.first..).unwrap_or_default()
    }

    /// Returns the number of messages of the session before the first.
    pub fn first_offset(&self) -> u64 {
        self.batch.count - self.messages().len() as u64
    }

    /// Returns the last event that is complete.
    pub fn last_seq(&self) -> u64 {
        self.batch.to
    }
}

impl SessionReader {
    pub(super) fn new(own: CatchUpReader, shared: Arc<SharedProjection>, budget: Arc<ReadBudget>) -> Self {
        Self { state: ReaderState::CatchingUp(Box::new(own)), shared, budget, seen: 0, count: 0 }
    }

    /// Holds messages while they are sent, within the budget of all readers.
    pub fn hold(&self, part: MessageSlice) -> HeldMessages {
        self.budget.hold(part)
    }

    /// Goes back to after the first `messages` messages of the session, since the next ones were dropped before they
    /// could be sent.
    pub async fn rewind(&mut self, messages: u64) {
        if let ReaderState::Reading(reading) = &mut self.state
            && let Ok((own, _)) = reading.await
        {
            self.state = ReaderState::CatchingUp(own);
        }
        self.leave_shared();
        if let ReaderState::CatchingUp(own) = &mut self.state {
            own.rewind(messages);
        }
    }

    /// Returns the next messages; `None` once the session has ended and all were returned. May be dropped while it
    /// waits, and nothing is missed.
    pub async fn next(&mut self) -> Result<Option<MessageSlice>, StoreError> {
        loop {
            match self.step().await? {
                TailRead::Events(part) => return Ok(Some(part)),
                TailRead::Ended => return Ok(None),
                TailRead::CaughtUp => self.wait().await,
            }
        }
    }

    /// Returns the available messages. Waits for the disk only.
    pub async fn step(&mut self) -> Result<TailRead<MessageSlice>, StoreError> {
        loop {
            let step = match &mut self.state {
                ReaderState::Ended => return Ok(TailRead::Ended),
                ReaderState::Live(_) => self.read_shared()?,
                ReaderState::CatchingUp(_) | ReaderState::Reading(_) => self.read_log().await?,
            };
            match step {
                Some(TailRead::Events(part)) if part.messages().is_empty() => {}
                Some(read) => return Ok(read),
                None => {}
            }
        }
    }

    /// Returns the last event that was read, whether or not it had messages.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the number of messages of the session up to that event.
    pub fn count(&self) -> u64 {
        self.count
    }

    async fn wait(&mut self) {
        if let ReaderState::Live(own) | ReaderState::CatchingUp(own) = &self.state {
            own.follower.wait_for_events_after(self.seen).await;
        }
    }

    /// Reads from the shared projection.
    fn read_shared(&mut self) -> Result<Option<TailRead<MessageSlice>>, StoreError> {
        let ReaderState::Live(own) = &mut self.state else { return Ok(None) };
        if own.session.dialect.verbatim {
            return self.read_verbatim();
        }
        match self.shared.read(self.seen, &own.session)? {
            Ok(TailRead::Events(batch)) => {
                let first = batch.messages.partition_point(|message| message.seq <= self.seen);
                (self.seen, self.count) = (batch.to, batch.count);
                Ok(Some(TailRead::Events(MessageSlice::new(batch, first))))
            }
            Ok(TailRead::CaughtUp) => Ok(Some(TailRead::CaughtUp)),
            Ok(TailRead::Ended) => Ok(Some(TailRead::Ended)),
            Err(NotShared(state)) => {
                own.continue_from(self.seen, state);
                self.leave_shared();
                Ok(None)
            }
        }
    }

    /// Reads events as they are, which need no projection.
    fn read_verbatim(&mut self) -> Result<Option<TailRead<MessageSlice>>, StoreError> {
        let ReaderState::Live(own) = &mut self.state else { return Ok(None) };
        if !own.follower.is_close() {
            own.continue_from(self.seen, None);
            self.leave_shared();
            return Ok(None);
        }
        let read = own.follower.read()?.try_map(|slice| {
            let batch = MessageBatch::verbatim(slice, self.seen);
            (self.seen, self.count) = (batch.to, batch.count);
            Ok::<_, StoreError>(MessageSlice::new(Arc::new(batch), 0))
        });
        read.map(Some)
    }

    fn leave_shared(&mut self) {
        self.state = match std::mem::replace(&mut self.state, ReaderState::Ended) {
            ReaderState::Live(own) => ReaderState::CatchingUp(own),
            state => state,
        };
    }

    /// Reads from the log.
    async fn read_log(&mut self) -> Result<Option<TailRead<MessageSlice>>, StoreError> {
        if let ReaderState::CatchingUp(_) = &self.state {
            let permit = self.budget.read_permit().await;
            if let ReaderState::CatchingUp(mut own) = std::mem::replace(&mut self.state, ReaderState::Ended) {
                self.state = ReaderState::Reading(self.budget.spawn_read(move || {
                    let read = own.read();
                    drop(permit);
                    (own, read)
                }));
            }
        }
        let ReaderState::Reading(reading) = &mut self.state else { return Ok(None) };
        let (mut own, read) = reading.await.map_err(|_| StoreError::Closed)?;
        let step = match read {
            Err(StoreError::Unreachable(_)) => {
                self.state = ReaderState::CatchingUp(own);
                sleep(UNREACHABLE_RETRY_INTERVAL).await;
                return Ok(None);
            }
            Err(error) => {
                self.state = ReaderState::Ended;
                return Err(error);
            }
            Ok(TailRead::Ended) => {
                self.state = ReaderState::Ended;
                return Ok(Some(TailRead::Ended));
            }
            Ok(TailRead::CaughtUp) => {
                (self.seen, self.count) = own.position();
                TailRead::CaughtUp
            }
            Ok(TailRead::Events(batch)) => {
                (self.seen, self.count) = (batch.to, batch.count);
                TailRead::Events(MessageSlice::new(Arc::new(batch), 0))
            }
        };
        let verbatim = own.session.dialect.verbatim;
        if own.has_caught_up() && (verbatim || self.shared.join(&mut own.state)) {
            // The shared projection has the state now, so each reader need not keep its own.
            own.state = None;
            self.state = ReaderState::Live(own);
        } else {
            self.state = ReaderState::CatchingUp(own);
        }
        Ok(Some(step))
    }
}
