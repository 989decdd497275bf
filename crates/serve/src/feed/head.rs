//! Where a session stands in a dialect: what its projection remembers at the last event, and how many messages there
//! are up to that.

use std::sync::Arc;

use switchboard_dialects::Dialect;
use switchboard_engine::{Engine, TailRead};
use switchboard_event::Id;
use switchboard_store::{CheckpointPosition, StoreError};

use super::{Passage, catch_up::Subject};

/// Behind all events that there can be.
const LAST: u64 = i64::MAX as u64;

/// Where a session stands in a dialect.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// What the projection remembers.
    pub saved: Vec<u8>,
    /// How many messages it has given.
    pub count: u64,
}

impl Head {
    /// Reads the log from the last checkpoint on. Waits for the disk.
    ///
    /// # Errors
    /// If there is no such session, or the log cannot be read.
    pub fn of(engine: &Engine, session: &Id, dialect: &'static Dialect) -> Result<Self, StoreError> {
        let subject = Subject { session: session.clone(), dialect, log: Arc::clone(engine.log()) };
        let mut state = subject.resume(CheckpointPosition::Seq(LAST))?;
        let mut follower = engine.follow(session, state.seq)?;
        while let TailRead::Events(slice) = follower.read()? {
            Passage::projected(&slice, &mut state)?;
            subject.save(&mut state);
        }
        let saved = state.projection.save().unwrap_or_default();
        Ok(Self { saved, count: state.count })
    }
}
