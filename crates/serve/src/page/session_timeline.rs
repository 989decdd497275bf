//! The entries of one session, kept up to date with its events. All of this may wait for the disk: not for the threads
//! that serve connections.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use switchboard_engine::{Follower, TailRead};
use switchboard_page::sheet::{
    EntryRecord, ModelPrices, SessionSummary, SkippedText, Timeline, TimelineCursor, TimelineOp,
};
use switchboard_store::StoreError;

use super::source::{EntrySource, Events};

/// A timeline that is this many events behind skips the text of items at first.
const FAR_BEHIND_EVENTS: u64 = 1024;

/// The maximum size of all rendered entries.
const MAX_RENDERED_BYTES: usize = 4 << 20;

/// An entry as it is sent.
pub type RenderedEntry = Arc<RawValue>;

/// The entries of one session.
pub struct SessionTimeline {
    pub events: Box<dyn Events>,
    prices: Arc<dyn ModelPrices + Send + Sync>,
    state: Mutex<State>,
    bytes: AtomicUsize,
}

#[derive(Default)]
struct State {
    sheet: Timeline,
    rendered: HashMap<u32, ((u64, u64), RenderedEntry)>,
    bytes: usize,
}

/// Entries that follow each other.
pub struct Window {
    pub entries: Vec<RenderedEntry>,
    pub from: u32,
    pub total: u32,
    pub seq: u64,
    pub summary: SessionSummary,
}

/// What changed for a reader of a session.
pub struct TimelineChanges {
    pub ops: Vec<TimelineOp<RenderedEntry>>,
    pub total: u32,
    /// The session in short, if that changed.
    pub summary: Option<SessionSummary>,
}

impl SessionTimeline {
    pub fn new(events: Box<dyn Events>, prices: Arc<dyn ModelPrices + Send + Sync>) -> Self {
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
        let (mut state, follower) = self.update()?;
        let total = state.sheet.len();
        let from = from.unwrap_or_else(|| total.saturating_sub(count)).min(total);
        let to = from.saturating_add(count).min(total);
        let entries = (from..to).filter_map(|n| state.render(n, &mut self.source(&follower))).collect();
        let (seq, summary) = (state.sheet.seq(), state.sheet.summary.clone());
        self.weigh(&state);
        Ok(Window { entries, from, total, seq, summary })
    }

    /// About how many lines each entry has.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn sizes(&self) -> Result<Vec<u32>, StoreError> {
        Ok(self.update()?.0.sheet.sizes().collect())
    }

    /// What is remembered of an entry.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn line(&self, n: u32) -> Result<Option<EntryRecord>, StoreError> {
        Ok(self.update()?.0.sheet.line(n).cloned())
    }

    /// The place of somebody who has seen all up to an event, or all that there is.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn cursor(&self, seq: Option<u64>) -> Result<TimelineCursor, StoreError> {
        let (state, _) = self.update()?;
        let last = state.sheet.seq();
        Ok(state.sheet.cursor(seq.unwrap_or(last).min(last)))
    }

    /// Returns what changed behind a cursor; the session in short only if it changed behind an event.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn changes(&self, cursor: &mut TimelineCursor, since: Option<u64>) -> Result<TimelineChanges, StoreError> {
        let (mut state, follower) = self.update()?;
        let sheet = &state.sheet;
        let is_changed = since.is_none_or(|since| sheet.summary.state.changed > since);
        let (total, summary) = (sheet.len(), is_changed.then(|| sheet.summary.clone()));
        let ops = sheet.changes(cursor, Some);
        let mut source = self.source(&follower);
        let ops = ops.into_iter().filter_map(|op| render_op(op, |n| state.render(n, &mut source))).collect();
        self.weigh(&state);
        Ok(TimelineChanges { ops, total, summary })
    }

    fn source<'a>(&'a self, follower: &'a Follower) -> EntrySource<'a> {
        EntrySource { follower, media: self.events.media() }
    }

    /// Takes note of how much memory it takes.
    fn weigh(&self, state: &State) {
        self.bytes.store(state.sheet.bytes() + state.bytes, Ordering::Relaxed);
    }

    /// Applies the events that have been added. Also returns a reader of the events, to render entries from.
    fn update(&self) -> Result<(MutexGuard<'_, State>, Follower), StoreError> {
        let mut state = self.state.lock();
        let sheet = &mut state.sheet;
        let follower = self.events.follow(sheet.seq())?;
        if follower.last_seq() >= sheet.seq() + FAR_BEHIND_EVENTS {
            self.catch_up(sheet, &follower)?;
        }
        let mut reader = follower.at(sheet.seq());
        while let TailRead::Events(slice) = reader.read_sound()? {
            slice.for_each(|event| sheet.see(event, &*self.prices))?;
        }
        sheet.skip_to(reader.position());
        Ok((state, follower))
    }

    /// Applies all events but those that add text, and then the text of the items that are open.
    fn catch_up(&self, sheet: &mut Timeline, follower: &Follower) -> Result<(), StoreError> {
        let mut last = sheet.seq();
        let mut reader = follower.at(last).with_kinds(Timeline::KINDS_WITHOUT_TEXT);
        while let TailRead::Events(slice) = reader.read_sound()? {
            slice.for_each(|event| sheet.see(event, &*self.prices))?;
            last = slice.last_seq();
        }
        let skipped = sheet.skip_text(last);
        let Some(begin) = skipped.begin() else { return Ok(()) };
        let mut reader = follower.at(begin).with_kinds(SkippedText::KINDS);
        while reader.position() < last
            && let TailRead::Events(slice) = reader.read_sound()?
        {
            slice.for_each_of_items(
                |item| skipped.includes(item),
                |event| {
                    if event.seq <= last {
                        sheet.apply_skipped(&skipped, event);
                    }
                },
            )?;
        }
        Ok(())
    }
}

impl State {
    /// Returns an entry as it is sent, rendered once for each change of it.
    fn render(&mut self, n: u32, source: &mut EntrySource<'_>) -> Option<RenderedEntry> {
        let line = self.sheet.line(n)?;
        let key = (line.last, line.stamp);
        if let Some((_, rendered)) = self.rendered.get(&n).filter(|(known, _)| *known == key) {
            return Some(rendered.clone());
        }
        let entry = self.sheet.entry(n, source)?;
        let rendered: RenderedEntry = serde_json::value::to_raw_value(&entry).ok()?.into();
        if self.bytes > MAX_RENDERED_BYTES {
            self.rendered.clear();
            self.bytes = 0;
        }
        self.bytes += rendered.get().len();
        self.rendered.insert(n, (key, rendered.clone()));
        Some(rendered)
    }
}

/// Returns the same change with the entry as it is sent.
fn render_op(
    op: TimelineOp<u32>,
    mut render: impl FnMut(u32) -> Option<RenderedEntry>,
) -> Option<TimelineOp<RenderedEntry>> {
    Some(match op {
        TimelineOp::Entry { entry: n } => TimelineOp::Entry { entry: render(n)? },
        TimelineOp::Text { n, text } => TimelineOp::Text { n, text },
        TimelineOp::Blocks { n, html, tail } => TimelineOp::Blocks { n, html, tail },
        TimelineOp::Reset => TimelineOp::Reset,
    })
}
