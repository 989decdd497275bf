//! A session as messages of a dialect, for any number of readers. Each reader has its own position and speed: one that
//! is far behind reads the log itself, those at the end share one projection.

mod catch_up;
mod read_budget;
mod reader;
mod shared_projection;

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use parking_lot::Mutex;
use switchboard_dialects::{Dialect, MessageBuffer};
use switchboard_engine::{Engine, EventSlice, Follower};
use switchboard_event::Id;
use switchboard_store::StoreError;

use catch_up::{CatchUpReader, ProjectionState};
use read_budget::ReadBudget;
use shared_projection::SharedProjection;

pub use catch_up::ProjectionSnapshot;
pub use read_budget::HeldMessages;
pub use reader::{MessageSlice, SessionReader};

/// Where a reader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedStart {
    /// After the first messages of the dialect.
    AfterMessages(u64),
    /// After an event.
    AfterEvent(u64),
}

/// The shared projections and the memory budget of all readers.
#[derive(Default)]
pub struct FeedRegistry {
    shared: Mutex<HashMap<(Id, &'static str), Weak<SharedProjection>>>,
    budget: Arc<ReadBudget>,
}

impl FeedRegistry {
    pub async fn open(
        self: &Arc<Self>,
        engine: &Engine,
        session: Id,
        dialect: &'static Dialect,
        start: FeedStart,
    ) -> Result<SessionReader, StoreError> {
        let (feeds, engine, permit) = (self.clone(), engine.clone(), self.budget.read_permit().await);
        let opening = self.budget.spawn_read(move || {
            let follower = engine.follow(&session, 0)?;
            drop(permit);
            let shared = feeds.shared(&session, dialect, &follower);
            let reader = CatchUpReader::new(&session, dialect, follower, engine.log().clone(), start);
            Ok(SessionReader::new(reader, shared, feeds.budget.clone()))
        });
        opening.await.map_err(|_| StoreError::Closed)?
    }

    /// Returns the projection for readers at the end of this run.
    fn shared(&self, session: &Id, dialect: &'static Dialect, follower: &Follower) -> Arc<SharedProjection> {
        let mut feeds = self.shared.lock();
        let key = (session.clone(), dialect.name);
        if let Some(shared) = feeds.get(&key).and_then(Weak::upgrade).filter(|shared| shared.is_same_run(follower)) {
            return shared;
        }
        feeds.retain(|_, shared| shared.strong_count() > 0);
        let shared = Arc::new(SharedProjection::new(follower.at(0)));
        feeds.insert(key, Arc::downgrade(&shared));
        shared
    }
}

#[derive(Clone, Debug)]
pub struct FeedMessage {
    pub json: Bytes,
    pub seq: u64,
    /// Whether it is the last message of that event: a reader that has it has seen the event.
    pub is_last: bool,
}

/// Consecutive messages.
#[derive(Debug, Default)]
pub struct MessageBatch {
    pub messages: Vec<FeedMessage>,
    /// The event before the first message.
    pub from: u64,
    /// The last event that was applied, which may have no messages.
    pub to: u64,
    /// The number of messages of the session up to the last of them.
    pub count: u64,
}

impl MessageBatch {
    /// Returns the approximate memory use.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.json.len() + size_of::<FeedMessage>()).sum()
    }

    /// Passes on events as they are.
    pub fn verbatim(slice: EventSlice, from: u64) -> Self {
        let to = slice.last_seq();
        let messages = slice.into_rows().map(|(seq, json)| FeedMessage { json, seq, is_last: true }).collect();
        Self { messages, from, to, count: to }
    }

    pub fn projected(slice: &EventSlice, state: &mut ProjectionState) -> Result<Self, StoreError> {
        let mut messages = MessageBuffer::default();
        let mut marks: Vec<(u64, bool)> = Vec::new();
        slice.for_each(|event| {
            state.projection.project_event(event, &mut messages);
            let more = messages.len() - marks.len();
            marks.extend((1..=more).map(|place| (event.seq, place == more)));
        })?;
        let (mut bytes, ends) = messages.into_parts();
        // A slow reader keeps the buffer, and its budget counts the length only.
        bytes.shrink_to_fit();
        let bytes = Bytes::from(bytes);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let cut = starts.zip(&ends).zip(marks).map(|((start, end), (seq, is_last))| FeedMessage {
            json: bytes.slice(start..*end),
            seq,
            is_last,
        });
        let messages: Vec<_> = cut.collect();
        let (from, to) = (state.seq, slice.last_seq());
        state.count += messages.len() as u64;
        state.seq = to;
        Ok(Self { messages, from, to, count: state.count })
    }
}
