//! A session as messages of a dialect, for any number of readers. Each reader has its own place, begins anywhere, and
//! may be as slow as it likes: one far behind reads the log by itself, those at the end share one projection.

mod budget;
mod catch_up;
mod head;
mod passage;
mod reader;
mod shared;

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use switchboard_dialects::Dialect;
use switchboard_engine::{Engine, Follower};
use switchboard_event::Id;
use switchboard_store::StoreError;

pub use budget::HeldPart;
pub use head::Head;
pub use passage::{Message, Passage};
pub use reader::{Part, Reader};

use budget::ReadBudget;
use catch_up::CatchUpReader;
use shared::Shared;

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Behind so many messages of the dialect.
    Message(u64),
    /// Behind the event of this place.
    Event(u64),
}

/// All projections that readers share.
#[derive(Default)]
pub struct Feeds {
    shared: Mutex<HashMap<(Id, &'static str), Weak<Shared>>>,
    budget: Arc<ReadBudget>,
}

impl Feeds {
    /// Opens a reader of a session.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    pub async fn open(
        self: &Arc<Self>,
        engine: &Engine,
        session: Id,
        dialect: &'static Dialect,
        begin: Begin,
    ) -> Result<Reader, StoreError> {
        let (feeds, engine, permit) = (self.clone(), engine.clone(), self.budget.read_permit().await);
        let opening = self.budget.spawn_read(move || {
            let follower = engine.follow(&session, 0)?;
            drop(permit);
            let shared = feeds.shared(&session, dialect, &follower);
            let reader = CatchUpReader::new(&session, dialect, follower, engine.log().clone(), begin);
            Ok(Reader::new(reader, shared, feeds.budget.clone()))
        });
        opening.await.map_err(|_| StoreError::Closed)?
    }

    /// The projection of those at the end of this run.
    fn shared(&self, session: &Id, dialect: &'static Dialect, follower: &Follower) -> Arc<Shared> {
        let mut feeds = self.shared.lock();
        let key = (session.clone(), dialect.name);
        if let Some(shared) = feeds.get(&key).and_then(Weak::upgrade).filter(|shared| shared.is_of(follower)) {
            return shared;
        }
        feeds.retain(|_, shared| shared.strong_count() > 0);
        let shared = Arc::new(Shared::new(follower.at(0)));
        feeds.insert(key, Arc::downgrade(&shared));
        shared
    }
}
