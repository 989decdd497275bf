//! The summaries of all sessions. They are saved as checkpoints, so that the board need not read all events.

use std::{collections::HashMap, path::Path, sync::Arc};

use parking_lot::Mutex;
use switchboard_engine::{Engine, Follower, TailRead};
use switchboard_event::{SessionState, Usage};
use switchboard_logs::usage::TokenPrices;
use switchboard_page::timeline::{ModelPrices, SessionSummary};
use switchboard_store::{Checkpoint, CheckpointPosition, SessionRecord, StoreError};

const CHECKPOINT_NAME: &str = "session.summary";

/// Increase when summaries are computed in another way.
const CHECKPOINT_VERSION: &str = "1";

/// The number of events between two checkpoints of an open session.
const CHECKPOINT_EVENTS: u64 = 8192;

const MAX_SUMMARIES: usize = 4096;

/// A `seq` after all events.
const MAX_SEQ: u64 = i64::MAX as u64;

/// The prices of a server.
pub struct PriceTable(TokenPrices);

impl PriceTable {
    /// Reads the prices of a data directory. A malformed table is reported by usage queries.
    pub fn read(data: &Path) -> Self {
        Self(
            TokenPrices::load_for_data_directory(data)
                .map_or_else(|_| TokenPrices::embedded().clone(), std::borrow::Cow::into_owned),
        )
    }

    fn checkpoint_version(&self) -> String {
        format!("{CHECKPOINT_VERSION} {}", self.0.price_date())
    }
}

impl ModelPrices for PriceTable {
    fn cost(&self, usage: &Usage) -> Option<f64> {
        self.0.usage_cost_usd(usage)
    }
}

/// The summaries of sessions, by their number.
pub struct SessionSummaries {
    pub prices: Arc<PriceTable>,
    engine: Engine,
    known: Mutex<HashMap<u64, KnownSummary>>,
}

struct KnownSummary {
    summary: Arc<SessionSummary>,
    /// The event of the last checkpoint.
    saved: u64,
}

impl SessionSummaries {
    pub fn new(data: &Path, engine: Engine) -> Self {
        Self { prices: Arc::new(PriceTable::read(data)), engine, known: Mutex::default() }
    }

    /// Returns how many events must be read to update a summary.
    pub fn behind(&self, stored: &SessionRecord) -> Result<u64, StoreError> {
        Ok(stored.head.saturating_sub(self.latest(stored)?.state.seq))
    }

    /// Returns the latest summary of a session without reading its events.
    pub fn latest(&self, stored: &SessionRecord) -> Result<Arc<SessionSummary>, StoreError> {
        if let Some(known) = self.known.lock().get(&stored.number) {
            return Ok(known.summary.clone());
        }
        let version = self.prices.checkpoint_version();
        let found = self.engine.log().find_checkpoint(
            &stored.id,
            CHECKPOINT_NAME,
            &version,
            CheckpointPosition::Seq(MAX_SEQ),
        )?;
        let summary: Option<SessionSummary> = found.and_then(|found| serde_json::from_slice(&found.state).ok());
        let summary = Arc::new(summary.unwrap_or_default());
        self.keep(stored.number, summary.clone(), summary.state.seq);
        Ok(summary)
    }

    /// Returns the summary of a session, updated.
    pub fn update(&self, stored: &SessionRecord) -> Result<Arc<SessionSummary>, StoreError> {
        let latest = self.latest(stored)?;
        if latest.state.seq >= stored.head {
            return Ok(latest);
        }
        let mut summary = (*latest).clone();
        if let Some(session) = self.engine.session(&stored.id) {
            self.apply_events(&mut summary, &session.follow())?;
        }
        // The tail of a session that runs here may be behind the log for a moment.
        if summary.state.seq < stored.head {
            self.apply_events(&mut summary, &self.engine.follow_stored(stored, 0))?;
        }
        let summary = Arc::new(summary);
        let saved = self.known.lock().get(&stored.number).map_or(0, |known| known.saved);
        let seq = summary.state.seq;
        let is_due = stored.state.is_final() || seq >= saved + CHECKPOINT_EVENTS;
        if is_due && seq > saved {
            self.save_checkpoint(stored, &summary);
        }
        self.keep(stored.number, summary.clone(), if is_due { seq } else { saved });
        Ok(summary)
    }

    fn apply_events(&self, summary: &mut SessionSummary, follower: &Follower) -> Result<(), StoreError> {
        let mut follower = follower.at(summary.state.seq).with_kinds(SessionState::KINDS);
        while let TailRead::Events(slice) = follower.read_sound()? {
            slice.for_each(|event| summary.apply(event, &*self.prices))?;
        }
        summary.state.skip_to(follower.position());
        Ok(())
    }

    fn save_checkpoint(&self, stored: &SessionRecord, summary: &SessionSummary) {
        // Without a checkpoint, the session is read again after a restart.
        let Ok(state) = serde_json::to_vec(summary) else { return };
        let (dialect, version) = (CHECKPOINT_NAME.to_owned(), self.prices.checkpoint_version());
        let checkpoint = Checkpoint { dialect, version, seq: summary.state.seq, messages: 0, state };
        self.engine.log().save_checkpoint(&stored.id, checkpoint);
    }

    fn keep(&self, number: u64, summary: Arc<SessionSummary>, saved: u64) {
        let mut known = self.known.lock();
        if known.len() >= MAX_SUMMARIES {
            // The oldest sessions are requested least.
            let oldest = known.keys().copied().min();
            oldest.into_iter().for_each(|oldest| drop(known.remove(&oldest)));
        }
        // Of two concurrent updates, the later one counts.
        if known.get(&number).is_none_or(|known| known.summary.state.seq <= summary.state.seq) {
            known.insert(number, KnownSummary { summary, saved });
        }
    }
}
