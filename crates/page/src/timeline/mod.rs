//! The events of a session as entries, in the order of their start.
//!
//! * [`Timeline`] is a fold of events: for each entry it stores the positions of its events ([`EntryRecord`]), and no
//!   text except growing text ([`GrowingText`]).
//! * [`Timeline::entry`] renders a [`TimelineEntry`] from the events of a record.
//! * [`Timeline::changes`] returns the changes for a reader that is up to date to an event ([`TimelineOp`]).
//! * [`SessionSummary`] is the state and the cost of a session.

mod changes;
mod entry;
mod growth;
mod items;
mod render;
mod summary;

use std::collections::{HashMap, VecDeque};

use summary::reply_cost;
use switchboard_event::{
    Event, EventBody, Id, Kind, RequestOpened, RequestResolved, SessionEnded, Stop, TurnCompleted, TurnStarted, Usage,
};

pub use changes::{TimelineCursor, TimelineOp};
pub use entry::{EntryKind, EntryRecord, EntryRequest, EntryStage, TimelineEntry};
pub use growth::{GrowingText, GrowthFormat};
pub use render::EventLookup;
pub use summary::{ModelPrices, NoPrices, SessionSummary};

/// The maximum number of changes to remember for readers that lag behind.
const MAX_REMEMBERED_CHANGES: usize = 4096;

/// The entries of a session.
#[derive(Debug, Default)]
pub struct Timeline {
    pub summary: SessionSummary,
    pub(crate) seq: u64,
    pub(crate) lines: Vec<EntryRecord>,
    /// Open items and their entries.
    pub(crate) open: HashMap<Id, u32>,
    /// Open requests and their entries.
    requests: HashMap<Id, u32>,
    /// The entries that can have children, by item and by thread.
    pub(crate) homes: HashMap<Id, u32>,
    /// Entries whose parent has not appeared yet, by its item or thread.
    pub(crate) orphans: HashMap<Id, Vec<u32>>,
    pub(crate) growths: HashMap<u32, GrowingText>,
    /// The memory use of the growing texts.
    pub(crate) grown: usize,
    turns: HashMap<u32, u32>,
    /// The entry and the hash of the last prompt, so that it is not shown twice.
    pub(crate) prompt: Option<(u32, u64)>,
    touched: VecDeque<(u64, u32)>,
    /// Changes up to this event are not all remembered.
    floor: u64,
}

impl Timeline {
    /// Returns the last applied event.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    #[must_use]
    pub fn line(&self, n: u32) -> Option<&EntryRecord> {
        self.lines.get(usize::try_from(n).ok()?)
    }

    /// Returns the growing text of an entry.
    #[must_use]
    pub fn growth(&self, n: u32) -> Option<&GrowingText> {
        self.growths.get(&n)
    }

    /// Returns the approximate number of lines of each entry.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        self.lines.iter().map(|line| line.size)
    }

    /// Returns the approximate memory use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let line = size_of::<EntryRecord>() + 2 * size_of::<(Id, u32)>() + 48;
        self.lines.len() * line + self.grown + self.touched.len() * 16 + size_of::<Self>()
    }

    /// Applies the next event.
    pub fn see(&mut self, event: &Event, prices: &dyn ModelPrices) {
        self.seq = event.seq;
        self.summary.apply(event, prices);
        match &event.body {
            EventBody::SessionStarted(_) => self.began_run(event),
            EventBody::SessionEnded(ended) => self.ended_run(event, ended),
            EventBody::TurnStarted(turn) if event.thread.is_none() => self.began_turn(event, turn),
            EventBody::TurnCompleted(turn) if event.thread.is_none() => self.ended_turn(event, turn),
            EventBody::Usage(usage) => self.used(event, usage, prices),
            EventBody::ItemStarted(item) => self.item_started(event, item),
            EventBody::ItemDelta(delta) => self.item_delta(event, delta),
            EventBody::ItemCompleted(item) => self.item_completed(event, item),
            EventBody::RequestOpened(request) => self.open_request(event, request),
            EventBody::RequestResolved(resolved) => self.answered(event, resolved),
            EventBody::Notice(notice) => self.noticed(event, notice),
            EventBody::SessionUpdated(_) | EventBody::TurnStarted(_) | EventBody::TurnCompleted(_) => {}
        }
    }

    /// Returns the entries that changed since an event; `None` if that is not remembered.
    fn touched_since(&self, seq: u64) -> Option<Vec<u32>> {
        if seq < self.floor {
            return None;
        }
        let from = self.touched.partition_point(|(touched, _)| *touched <= seq);
        let mut changed: Vec<u32> = self.touched.range(from..).map(|(_, n)| *n).collect();
        changed.sort_unstable();
        changed.dedup();
        Some(changed)
    }

    /// Adds an entry and returns its position.
    fn push(&mut self, event: &Event, line: EntryRecord) -> u32 {
        let n = self.len();
        self.lines.push(line);
        self.settle(n, event);
        self.note(n, event.seq);
        n
    }

    /// Records a change of an entry other than added text.
    fn touch(&mut self, n: u32, seq: u64) -> Option<&mut EntryRecord> {
        self.note(n, seq);
        let line = self.lines.get_mut(usize::try_from(n).ok()?)?;
        (line.last, line.stamp) = (seq, seq);
        Some(line)
    }

    /// Remembers that an entry changed.
    fn note(&mut self, n: u32, seq: u64) {
        // Skipped text is applied late, but readers search for changes after an event.
        let seq = self.touched.back().map_or(seq, |(last, _)| seq.max(*last));
        match self.touched.back_mut() {
            Some((last, same)) if *same == n => *last = seq,
            _ => self.touched.push_back((seq, n)),
        }
        if self.touched.len() > MAX_REMEMBERED_CHANGES {
            self.floor = self.touched.pop_front().map_or(self.floor, |(seq, _)| seq);
        }
    }

    fn began_run(&mut self, event: &Event) {
        let id = Id::from(format!("run_{}", event.run));
        self.push(event, EntryRecord::new(EntryKind::Session, EntryStage::Completed, id, event));
    }

    fn ended_run(&mut self, event: &Event, ended: &SessionEnded) {
        let stage = match ended.reason {
            switchboard_event::EndReason::Completed => EntryStage::Completed,
            switchboard_event::EndReason::Cancelled => EntryStage::Interrupted,
            _ => EntryStage::Failed,
        };
        self.prompt = None;
        self.push(event, EntryRecord::new(EntryKind::Session, stage, Id::from(format!("end_{}", event.run)), event));
    }

    fn began_turn(&mut self, event: &Event, turn: &TurnStarted) {
        let number = event.turn.unwrap_or_default();
        let line = EntryRecord::new(EntryKind::Turn, EntryStage::Running, Id::from(format!("turn_{number}")), event);
        let n = self.push(event, line);
        self.turns.insert(number, n);
        if let Some(prompt) = turn.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty()) {
            self.prompted(event, prompt);
        }
    }

    fn ended_turn(&mut self, event: &Event, turn: &TurnCompleted) {
        self.prompt = None;
        let Some(n) = event.turn.and_then(|turn| self.turns.get(&turn)).copied() else { return };
        let odd = turn.stop == Stop::MaxTokens || turn.stop == Stop::Refusal;
        if let Some(line) = self.touch(n, event.seq) {
            line.done = Some(event.seq);
            line.stage = turn.status.into();
            line.size = if odd || turn.error.is_some() || turn.result.is_some() { 2 } else { 1 };
        }
    }

    fn used(&mut self, event: &Event, usage: &Usage, prices: &dyn ModelPrices) {
        if usage.cumulative {
            return;
        }
        let Some(n) = event.turn.and_then(|turn| self.turns.get(&turn)).copied() else { return };
        if let Some(line) = self.touch(n, event.seq) {
            let priced = Usage { cost_usd: reply_cost(usage, prices), ..usage.clone() };
            line.usage.get_or_insert_default().add(&priced);
        }
    }

    fn open_request(&mut self, event: &Event, request: &RequestOpened) {
        let mut line = EntryRecord::new(EntryKind::Request, EntryStage::Open, request.request.clone(), event);
        line.size = 4;
        let n = self.push(event, line);
        self.requests.insert(request.request.clone(), n);
    }

    fn answered(&mut self, event: &Event, resolved: &RequestResolved) {
        let Some(n) = self.requests.remove(&resolved.request) else { return };
        if let Some(line) = self.touch(n, event.seq) {
            line.done = Some(event.seq);
            line.stage = resolved.outcome.into();
        }
    }
}

/// The maximum nesting depth.
const MAX_DEPTH: u8 = 8;

/// The maximum number of scans for the children of entries that got their parent late.
const MAX_SCANS: u32 = 64;

impl Timeline {
    /// Returns the number of subagents that enclose an entry.
    fn depth(&self, n: u32) -> u8 {
        let above = |n: &u32| self.line(*n)?.parent;
        let chain = std::iter::successors(above(&n), above).take(MAX_DEPTH.into()).count();
        u8::try_from(chain).unwrap_or(MAX_DEPTH)
    }

    /// Returns the parent entry of an event, if known.
    fn home_of(&self, event: &Event) -> Option<u32> {
        [&event.parent, &event.thread].into_iter().flatten().find_map(|id| self.homes.get(id)).copied()
    }

    /// Sets the parent of a new entry.
    fn settle(&mut self, n: u32, event: &Event) {
        let found = self.home_of(event);
        if let Some(line) = self.lines.last_mut() {
            line.parent = found.filter(|found| *found != n);
        }
        if found.is_none() {
            for id in [&event.parent, &event.thread].into_iter().flatten() {
                self.orphans.entry(id.clone()).or_default().push(n);
            }
        }
    }

    /// Binds an item or a thread to an entry and moves earlier entries below it.
    fn house(&mut self, id: &Id, n: u32, seq: u64) {
        self.homes.insert(id.clone(), n);
        let mut looks = MAX_SCANS;
        for orphan in self.orphans.remove(id).unwrap_or_default() {
            let found = usize::try_from(orphan).ok().and_then(|at| self.lines.get_mut(at));
            let Some(line) = found.filter(|line| line.parent.is_none() && orphan != n) else { continue };
            line.parent = Some(n);
            let has_more = line.kind == EntryKind::Subagent && looks > 0;
            self.deeper(orphan, seq);
            if has_more {
                looks -= 1;
                self.below(orphan).into_iter().for_each(|n| self.deeper(n, seq));
            }
        }
    }

    /// Returns the direct children of an entry.
    fn below(&self, n: u32) -> Vec<u32> {
        (0..).zip(&self.lines).filter(|(_, line)| line.parent == Some(n)).map(|(n, _)| n).collect()
    }

    /// Records that only the depth of an entry changed.
    fn deeper(&mut self, n: u32, seq: u64) {
        let last = self.line(n).map(|line| line.last);
        if let (Some(line), Some(last)) = (self.touch(n, seq), last) {
            line.last = last;
        }
    }
}

/// The open items whose text was skipped, and where it starts.
#[derive(Debug, Default)]
pub struct SkippedText {
    items: HashMap<Id, u64>,
}

impl SkippedText {
    /// The kinds of event that contain the text of an open item.
    pub const KINDS: &'static [Kind] = &[Kind::ItemStarted, Kind::ItemDelta];

    /// Returns the event after which the skipped text starts; `None` if no item is open.
    #[must_use]
    pub fn begin(&self) -> Option<u64> {
        self.items.values().min().copied()
    }

    /// Returns whether text of this item was skipped.
    #[must_use]
    pub fn includes(&self, item: &str) -> bool {
        self.items.contains_key(item)
    }
}

impl Timeline {
    /// The kinds of event that contain everything except the text of open items.
    pub const KINDS_WITHOUT_TEXT: &'static [Kind] = &[
        Kind::SessionStarted,
        Kind::SessionUpdated,
        Kind::SessionEnded,
        Kind::TurnStarted,
        Kind::TurnCompleted,
        Kind::ItemStarted,
        Kind::ItemCompleted,
        Kind::RequestOpened,
        Kind::RequestResolved,
        Kind::Usage,
        Kind::Notice,
    ];

    /// Marks events up to this one as seen, of which those that add text were left out. Returns what to read next.
    #[must_use]
    pub fn skip_text(&mut self, seq: u64) -> SkippedText {
        self.skip_to(seq);
        let begin = |(id, n): (&Id, &u32)| Some((id.clone(), self.line(*n)?.seeded));
        SkippedText { items: self.open.iter().filter_map(begin).collect() }
    }

    /// Marks events up to this one as seen, of which none can be shown.
    pub fn skip_to(&mut self, seq: u64) {
        self.seq = self.seq.max(seq);
        self.summary.state.skip_to(seq);
    }

    /// Applies an event of [`SkippedText::KINDS`]. The events of an item must come in order.
    pub fn apply_skipped(&mut self, skipped: &SkippedText, event: &Event) {
        let begin = event.item.as_ref().and_then(|item| skipped.items.get(item));
        if begin.is_none_or(|begin| event.seq <= *begin) {
            return;
        }
        match &event.body {
            EventBody::ItemStarted(item) => self.item_started(event, item),
            EventBody::ItemDelta(delta) => self.item_delta(event, delta),
            _ => {}
        }
    }
}
