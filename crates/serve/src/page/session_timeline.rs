//! The entries of one session, updated from its events. All functions may block on the disk.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use switchboard_engine::{Engine, Follower, TailRead};
use switchboard_event::{Event, Id};
use switchboard_page::timeline::{
    EntryRecord, EventLookup, ModelPrices, SessionSummary, SkippedText, Timeline, TimelineCursor, TimelineOp,
};
use switchboard_store::StoreError;

use crate::{Problem, Service};

/// A timeline that is this many events behind skips the text of items at first.
const FAR_BEHIND_EVENTS: u64 = 1024;

const MAX_RENDERED_BYTES: usize = 4 << 20;

/// The maximum size of all timelines; the least recently used ones are dropped first.
const MAX_TIMELINE_BYTES: usize = 96 << 20;

/// An entry as it is sent.
pub type RenderedEntry = Arc<RawValue>;

pub struct SessionTimeline {
    pub events: Box<dyn TimelineEvents>,
    prices: Arc<dyn ModelPrices + Send + Sync>,
    state: Mutex<TimelineState>,
    bytes: AtomicUsize,
}

#[derive(Default)]
struct TimelineState {
    timeline: Timeline,
    rendered: HashMap<u32, ((u64, u64), RenderedEntry)>,
    bytes: usize,
}

/// Consecutive entries.
pub struct EntryWindow {
    pub entries: Vec<RenderedEntry>,
    pub from: u32,
    pub total: u32,
    pub seq: u64,
    pub summary: SessionSummary,
}

pub struct TimelineChanges {
    pub ops: Vec<TimelineOp<RenderedEntry>>,
    pub total: u32,
    /// The summary, if it has changed.
    pub summary: Option<SessionSummary>,
}

impl SessionTimeline {
    pub fn new(events: Box<dyn TimelineEvents>, prices: Arc<dyn ModelPrices + Send + Sync>) -> Self {
        Self { events, prices, state: Mutex::default(), bytes: AtomicUsize::new(0) }
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns some entries from a position, or the last ones.
    pub fn window(&self, from: Option<u32>, count: u32) -> Result<EntryWindow, StoreError> {
        let (mut state, follower) = self.update()?;
        let total = state.timeline.len();
        let from = from.unwrap_or_else(|| total.saturating_sub(count)).min(total);
        let to = from.saturating_add(count).min(total);
        let entries = (from..to).filter_map(|n| state.render(n, &mut self.source(&follower))).collect();
        let (seq, summary) = (state.timeline.seq(), state.timeline.summary.clone());
        self.update_size(&state);
        Ok(EntryWindow { entries, from, total, seq, summary })
    }

    /// Returns the approximate number of lines of each entry.
    pub fn sizes(&self) -> Result<Vec<u32>, StoreError> {
        Ok(self.update()?.0.timeline.sizes().collect())
    }

    pub fn line(&self, n: u32) -> Result<Option<EntryRecord>, StoreError> {
        Ok(self.update()?.0.timeline.line(n).cloned())
    }

    /// Returns the cursor after an event, or after all events.
    pub fn cursor(&self, seq: Option<u64>) -> Result<TimelineCursor, StoreError> {
        let (state, _) = self.update()?;
        let last = state.timeline.seq();
        Ok(state.timeline.cursor(seq.unwrap_or(last).min(last)))
    }

    /// Returns what changed after a cursor; the summary only if it changed after an event.
    pub fn changes(&self, cursor: &mut TimelineCursor, since: Option<u64>) -> Result<TimelineChanges, StoreError> {
        let (mut state, follower) = self.update()?;
        let timeline = &state.timeline;
        let is_changed = since.is_none_or(|since| timeline.summary.state.changed > since);
        let (total, summary) = (timeline.len(), is_changed.then(|| timeline.summary.clone()));
        let ops = timeline.changes(cursor, Some);
        let mut source = self.source(&follower);
        let ops = ops.into_iter().filter_map(|op| render_op(op, |n| state.render(n, &mut source))).collect();
        self.update_size(&state);
        Ok(TimelineChanges { ops, total, summary })
    }

    fn source<'a>(&'a self, follower: &'a Follower) -> EntrySource<'a> {
        EntrySource { follower, media: self.events.media() }
    }

    fn update_size(&self, state: &TimelineState) {
        self.bytes.store(state.timeline.bytes() + state.bytes, Ordering::Relaxed);
    }

    /// Applies new events. Also returns a reader of the events, to render entries from.
    fn update(&self) -> Result<(MutexGuard<'_, TimelineState>, Follower), StoreError> {
        let mut state = self.state.lock();
        let timeline = &mut state.timeline;
        let follower = self.events.follow(timeline.seq())?;
        if follower.last_seq() >= timeline.seq() + FAR_BEHIND_EVENTS {
            self.catch_up(timeline, &follower)?;
        }
        let mut reader = follower.at(timeline.seq());
        while let TailRead::Events(slice) = reader.read_sound()? {
            slice.for_each(|event| timeline.see(event, &*self.prices))?;
        }
        timeline.skip_to(reader.position());
        Ok((state, follower))
    }

    /// Applies all events but those that add text, and then the text of the open items.
    fn catch_up(&self, timeline: &mut Timeline, follower: &Follower) -> Result<(), StoreError> {
        let mut last = timeline.seq();
        let mut reader = follower.at(last).with_kinds(Timeline::KINDS_WITHOUT_TEXT);
        while let TailRead::Events(slice) = reader.read_sound()? {
            slice.for_each(|event| timeline.see(event, &*self.prices))?;
            last = slice.last_seq();
        }
        let skipped = timeline.skip_text(last);
        let Some(begin) = skipped.begin() else { return Ok(()) };
        let mut reader = follower.at(begin).with_kinds(SkippedText::KINDS);
        while reader.position() < last
            && let TailRead::Events(slice) = reader.read_sound()?
        {
            slice.for_each_of_items(
                |item| skipped.includes(item),
                |event| {
                    if event.seq <= last {
                        timeline.apply_skipped(&skipped, event);
                    }
                },
            )?;
        }
        Ok(())
    }
}

impl TimelineState {
    /// Returns an entry as it is sent, rendered once per change.
    fn render(&mut self, n: u32, source: &mut EntrySource<'_>) -> Option<RenderedEntry> {
        let line = self.timeline.line(n)?;
        let key = (line.last, line.stamp);
        if let Some((_, rendered)) = self.rendered.get(&n).filter(|(known, _)| *known == key) {
            return Some(rendered.clone());
        }
        let entry = self.timeline.entry(n, source)?;
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

/// The events of a timeline.
pub trait TimelineEvents: Send + Sync {
    /// Returns a reader of the events after one.
    fn follow(&self, after: u64) -> Result<Follower, StoreError>;

    /// The URL prefix of its images.
    fn media(&self) -> &str;
}

struct LoggedSessionEvents {
    pub engine: Engine,
    pub session: Id,
    pub media: String,
}

impl TimelineEvents for LoggedSessionEvents {
    fn follow(&self, after: u64) -> Result<Follower, StoreError> {
        self.engine.follow(&self.session, after)
    }

    fn media(&self) -> &str {
        &self.media
    }
}

/// The events that entries are rendered from.
struct EntrySource<'a> {
    pub follower: &'a Follower,
    pub media: &'a str,
}

impl EventLookup for EntrySource<'_> {
    fn event(&mut self, seq: u64) -> Option<Event> {
        self.follower.read_event(seq)
    }

    fn media(&self) -> &str {
        self.media
    }
}

/// The timelines of recently viewed sessions.
pub type TimelineCache = LruCache<Id, Arc<SessionTimeline>>;

/// A cache whose least recently used values are dropped first. The latest value is the last.
pub struct LruCache<K, V>(Mutex<Vec<(K, V)>>);

impl<K, V> Default for LruCache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, V: Clone> LruCache<K, V> {
    pub fn get(&self, key: &K) -> Option<V> {
        Self::use_entry(&mut self.0.lock(), key)
    }

    /// Adds a value, unless another thread has added one. Returns the value in the cache.
    pub fn insert(&self, key: K, value: V) -> V {
        let mut entries = self.0.lock();
        Self::use_entry(&mut entries, &key).unwrap_or_else(|| {
            entries.push((key, value.clone()));
            value
        })
    }

    /// Returns a value and makes it the latest.
    fn use_entry(entries: &mut Vec<(K, V)>, key: &K) -> Option<V> {
        let index = entries.iter().position(|(known, _)| known == key)?;
        let entry = entries.remove(index);
        let value = entry.1.clone();
        entries.push(entry);
        Some(value)
    }

    pub fn remove(&self, is_removed: impl Fn(&K) -> bool) {
        self.0.lock().retain(|(key, _)| !is_removed(key));
    }

    /// Drops values over the limit. The last one stays, however large it is.
    pub fn shrink(&self, max_bytes: usize, bytes_of: impl Fn(&V) -> usize) {
        let mut entries = self.0.lock();
        let mut bytes: usize = entries.iter().map(|(_, value)| bytes_of(value)).sum();
        while bytes > max_bytes && entries.len() > 1 {
            bytes = bytes.saturating_sub(bytes_of(&entries.remove(0).1));
        }
    }
}

impl Service {
    /// Runs a query on the timeline of a session, on a thread that may block.
    pub(super) async fn with_timeline<T: Send + 'static>(
        &self,
        session: &str,
        query: impl FnOnce(&SessionTimeline) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let (service, id) = (self.clone(), Id::from(session));
        self.query_log(move |_| {
            let result = query(&service.timeline(&id));
            if matches!(result, Err(StoreError::NoSession(_))) {
                service.forget_timeline(&id);
            }
            service.shrink_timelines();
            result
        })
        .await
    }

    pub(super) fn timeline(&self, session: &Id) -> Arc<SessionTimeline> {
        self.timelines().get(session).unwrap_or_else(|| {
            let media = format!("/api/page/sessions/{session}/media");
            let events = LoggedSessionEvents { engine: self.engine().clone(), session: session.clone(), media };
            let timeline = SessionTimeline::new(Box::new(events), self.summaries().prices.clone());
            self.timelines().insert(session.clone(), Arc::new(timeline))
        })
    }

    pub(super) fn forget_timeline(&self, session: &Id) {
        self.timelines().remove(|known| known == session);
    }

    pub(super) fn shrink_timelines(&self) {
        self.timelines().shrink(MAX_TIMELINE_BYTES, |timeline| timeline.bytes());
    }
}
