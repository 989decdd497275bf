//! What is known of every session as a whole. Of what has ended it is written down beside the session, so that a board of
//! many sessions need not read them all.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use switchboard_event::{Event, Usage};
use switchboard_logs::usage::Prices as Table;
use switchboard_page::sheet::{Facts, Prices};
use switchboard_store::{At, Checkpoint, Log, Page, Session as Stored, StoreError};

/// The name under which facts are kept among projections.
const NAME: &str = "page.facts";

/// Raised when facts are made in another way.
const VERSION: &str = "1";

/// So much is read at once.
const PAGE: Page = Page { after: 0, limit: 4096, max_bytes: 4 << 20 };

/// Facts of an open session are written down after so many events, too.
const EVERY: u64 = 8192;

/// So many sessions are remembered.
const MOST: usize = 4096;

/// Behind all events that there can be.
const LAST: u64 = i64::MAX as u64;

/// What models cost, by the table of prices.
pub struct Priced(Table);

impl Priced {
    /// The prices that hold with this data folder. A table that makes no sense is told of where usage is asked for.
    pub fn kept_in(data: &Path) -> Self {
        Self(Table::kept_in(data).map_or_else(|_| Table::embedded().clone(), std::borrow::Cow::into_owned))
    }

    fn version(&self) -> String {
        format!("{VERSION} {}", self.0.date())
    }
}

impl Prices for Priced {
    fn cost(&self, usage: &Usage) -> Option<f64> {
        self.0.cost(usage)
    }
}

/// What is known of every session.
pub struct Ledger {
    pub prices: Arc<Priced>,
    known: Mutex<HashMap<u64, Known>>,
}

struct Known {
    facts: Arc<Facts>,
    saved: u64,
}

impl Ledger {
    pub fn new(data: &Path) -> Self {
        Self { prices: Arc::new(Priced::kept_in(data)), known: Mutex::default() }
    }

    /// How many events must be read to know all of a session. Looks at what was written down.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn behind(&self, log: &dyn Log, stored: &Stored) -> Result<u64, StoreError> {
        Ok(stored.head.saturating_sub(self.begin(log, stored)?.seq))
    }

    /// What is known of a session, without reading on.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn begin(&self, log: &dyn Log, stored: &Stored) -> Result<Arc<Facts>, StoreError> {
        if let Some(known) = self.known().get(&stored.number) {
            return Ok(known.facts.clone());
        }
        let found = log.checkpoint(&stored.id, NAME, &self.prices.version(), At::Seq(LAST))?;
        let facts: Option<Facts> = found.and_then(|found| serde_json::from_slice(&found.state).ok());
        let facts = Arc::new(facts.unwrap_or_default());
        self.keep(stored.number, facts.clone(), facts.seq);
        Ok(facts)
    }

    /// All that is known of a session.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn facts(&self, log: &dyn Log, stored: &Stored) -> Result<Arc<Facts>, StoreError> {
        let begin = self.begin(log, stored)?;
        if begin.seq >= stored.head {
            return Ok(begin);
        }
        let mut facts = (*begin).clone();
        while facts.seq < stored.head {
            let (rows, _) = log.sound_rows(&stored.id, Page { after: facts.seq, ..PAGE })?;
            if rows.is_empty() {
                break;
            }
            for row in rows.iter().filter(|row| row.seq <= stored.head) {
                if !facts.skim(row.seq, &row.json) {
                    let bad = |error| StoreError::Event(stored.id.clone(), error);
                    facts.see(&Event::from_json(&row.json).map_err(bad)?, &*self.prices);
                }
            }
        }
        let facts = Arc::new(facts);
        let saved = self.known().get(&stored.number).map_or(0, |known| known.saved);
        let is_time = stored.state.is_final() || facts.seq >= saved + EVERY;
        if is_time && facts.seq > saved {
            self.write_down(log, stored, &facts);
        }
        self.keep(stored.number, facts.clone(), if is_time { facts.seq } else { saved });
        Ok(facts)
    }

    fn write_down(&self, log: &dyn Log, stored: &Stored, facts: &Facts) {
        // Without it, whoever asks next reads it all again.
        let Ok(state) = serde_json::to_vec(facts) else { return };
        let (dialect, version) = (NAME.to_owned(), self.prices.version());
        log.save_checkpoint(&stored.id, Checkpoint { dialect, version, seq: facts.seq, messages: 0, state });
    }

    fn keep(&self, number: u64, facts: Arc<Facts>, saved: u64) {
        let mut known = self.known();
        if known.len() >= MOST {
            // The oldest sessions are asked for least.
            let oldest = known.keys().copied().min();
            oldest.into_iter().for_each(|oldest| drop(known.remove(&oldest)));
        }
        // Whoever has read farther is right.
        if known.get(&number).is_none_or(|known| known.facts.seq <= facts.seq) {
            known.insert(number, Known { facts, saved });
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
