//! The entries of one session, kept up to date with its events. All of this waits for the disk and may take its time: not
//! for the threads that serve connections.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::value::RawValue;
use switchboard_event::Event;
use switchboard_page::sheet::{Cursor, Facts, Line, Op, Prices, Sheet, Unread, item_named};
use switchboard_store::{Page, Row, StoreError};

use super::source::{Events, Reading};

/// So much is read at once.
const PAGE: Page = Page { after: 0, limit: 4096, max_bytes: 4 << 20 };

/// Who is so many events behind reads in a hurry.
const FAR: usize = 1024;

/// What was made of entries is kept up to so many bytes.
const MOST_PAINTED: usize = 4 << 20;

/// An entry as it is sent.
pub type Painted = Arc<RawValue>;

/// The entries of one session.
pub struct Desk {
    pub events: Box<dyn Events>,
    prices: Arc<dyn Prices + Send + Sync>,
    state: Mutex<State>,
    bytes: AtomicUsize,
}

#[derive(Default)]
struct State {
    sheet: Sheet,
    painted: HashMap<u32, ((u64, u64), Painted)>,
    bytes: usize,
}

/// Entries that follow each other.
pub struct Window {
    pub entries: Vec<Painted>,
    pub from: u32,
    pub total: u32,
    pub seq: u64,
    pub facts: Facts,
}

/// What somebody is told who follows a session.
pub struct News {
    pub ops: Vec<Op<Painted>>,
    pub total: u32,
    /// What is known of the session as a whole, if there is news of that.
    pub facts: Option<Facts>,
}

impl Desk {
    pub fn new(events: Box<dyn Events>, prices: Arc<dyn Prices + Send + Sync>) -> Self {
        Self { events, prices, state: Mutex::default(), bytes: AtomicUsize::new(0) }
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// So many entries from a place on, or the last ones.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn window(&self, from: Option<u32>, count: u32) -> Result<Window, StoreError> {
        let mut state = self.fresh()?;
        let total = state.sheet.len();
        let from = from.unwrap_or_else(|| total.saturating_sub(count)).min(total);
        let to = from.saturating_add(count).min(total);
        let entries = (from..to).filter_map(|n| state.paint(n, &*self.events)).collect();
        let (seq, facts) = (state.sheet.seq(), state.sheet.facts.clone());
        self.weigh(&state);
        Ok(Window { entries, from, total, seq, facts })
    }

    /// About how many lines each entry has.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn sizes(&self) -> Result<Vec<u32>, StoreError> {
        Ok(self.fresh()?.sheet.sizes().collect())
    }

    /// What is remembered of an entry.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn line(&self, n: u32) -> Result<Option<Line>, StoreError> {
        Ok(self.fresh()?.sheet.line(n).cloned())
    }

    /// The place of somebody who has seen all up to an event, or all that there is.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn cursor(&self, seq: Option<u64>) -> Result<Cursor, StoreError> {
        let state = self.fresh()?;
        let last = state.sheet.seq();
        Ok(state.sheet.cursor(seq.unwrap_or(last).min(last)))
    }

    /// What happened since then; of the session as a whole, if something was said of that since another event.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn news(&self, cursor: &mut Cursor, since: Option<u64>) -> Result<News, StoreError> {
        let mut state = self.fresh()?;
        let State { sheet, .. } = &*state;
        let is_news = since.is_none_or(|since| sheet.facts.news > since);
        let (total, facts) = (sheet.len(), is_news.then(|| sheet.facts.clone()));
        let ops = sheet.changes(cursor, Some);
        let ops = ops.into_iter().filter_map(|op| paint(op, |n| state.paint(n, &*self.events))).collect();
        self.weigh(&state);
        Ok(News { ops, total, facts })
    }

    /// Takes note of how much memory it takes.
    fn weigh(&self, state: &State) {
        self.bytes.store(state.sheet.bytes() + state.bytes, Ordering::Relaxed);
    }

    /// Brings it up to date.
    fn fresh(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let mut state = self.state();
        let mut skimmed = false;
        loop {
            let rows = self.events.rows(Page { after: state.sheet.seq(), ..PAGE })?;
            if rows.is_empty() {
                break;
            }
            let hurry = rows.len() >= FAR;
            for row in &rows {
                if hurry && state.sheet.skim(row.seq, &row.json) {
                    skimmed = true;
                } else {
                    state.sheet.see(&event(row)?, &*self.prices);
                }
            }
        }
        if skimmed {
            self.read_again(&mut state.sheet)?;
        }
        Ok(state)
    }

    /// Reads what was passed over and still grows.
    fn read_again(&self, sheet: &mut Sheet) -> Result<(), StoreError> {
        let unread = sheet.unread();
        let Some(first) = unread.iter().map(|unread| unread.from).min() else { return Ok(()) };
        let unread: HashMap<&str, &Unread> = unread.iter().map(|unread| (&*unread.id, unread)).collect();
        let mut after = first.saturating_sub(1);
        while after < sheet.seq() {
            let rows = self.events.rows(Page { after, ..PAGE })?;
            let Some(last) = rows.last() else { break };
            after = last.seq;
            for row in rows {
                let meant = item_named(&row.json).and_then(|id| unread.get(id));
                if let Some(meant) = meant.filter(|meant| (meant.from..=sheet.seq()).contains(&row.seq)) {
                    sheet.read_again(meant.n, &event(&row)?);
                }
            }
        }
        sheet.all_read();
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// An entry as it is sent; made once for each change of it.
    fn paint(&mut self, n: u32, events: &dyn Events) -> Option<Painted> {
        let line = self.sheet.line(n)?;
        let key = (line.last, line.stamp);
        if let Some((_, painted)) = self.painted.get(&n).filter(|(known, _)| *known == key) {
            return Some(painted.clone());
        }
        let entry = self.sheet.entry(n, &mut Reading(events))?;
        let painted: Painted = serde_json::value::to_raw_value(&entry).ok()?.into();
        if self.bytes > MOST_PAINTED {
            self.painted.clear();
            self.bytes = 0;
        }
        self.bytes += painted.get().len();
        self.painted.insert(n, (key, painted.clone()));
        Some(painted)
    }
}

/// The same change with the entry in the form in which it is sent.
fn paint(op: Op<u32>, mut entry: impl FnMut(u32) -> Option<Painted>) -> Option<Op<Painted>> {
    Some(match op {
        Op::Entry { entry: n } => Op::Entry { entry: entry(n)? },
        Op::Text { n, text } => Op::Text { n, text },
        Op::Blocks { n, html, tail } => Op::Blocks { n, html, tail },
        Op::Reset => Op::Reset,
    })
}

fn event(row: &Row) -> Result<Event, StoreError> {
    let bad = |error| StoreError::Event(switchboard_event::Id::from(format!("(event {})", row.seq)), error);
    Event::from_json(&row.json).map_err(bad)
}
