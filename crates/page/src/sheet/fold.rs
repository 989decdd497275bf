//! Folds the events of a session into entries.

use std::collections::{HashMap, VecDeque};

use switchboard_event::{
    Event, EventBody, Id, RequestOpened, RequestResolved, SessionEnded, Stop, TurnCompleted, TurnStarted, Usage,
};

use super::{EntryKind, EntryRecord, EntryStage, GrowingText, ModelPrices, SessionSummary, summary::reply_cost};

/// The maximum number of changes to remember for readers that lag behind.
const MAX_REMEMBERED_CHANGES: usize = 4096;

/// The entries of a session.
#[derive(Debug, Default)]
pub struct Timeline {
    pub summary: SessionSummary,
    pub(super) seq: u64,
    pub(super) lines: Vec<EntryRecord>,
    /// Open items and their entries.
    pub(super) open: HashMap<Id, u32>,
    /// Open requests and their entries.
    requests: HashMap<Id, u32>,
    /// The entries that can have children, by item and by thread.
    pub(super) homes: HashMap<Id, u32>,
    /// Entries whose parent has not appeared yet, by its item or thread.
    pub(super) orphans: HashMap<Id, Vec<u32>>,
    pub(super) growths: HashMap<u32, GrowingText>,
    /// The memory use of the growing texts.
    pub(super) grown: usize,
    turns: HashMap<u32, u32>,
    /// The entry and the hash of the last prompt, so that it is not shown twice.
    pub(super) prompt: Option<(u32, u64)>,
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
            EventBody::RequestOpened(request) => self.asked(event, request),
            EventBody::RequestResolved(resolved) => self.answered(event, resolved),
            EventBody::Notice(notice) => self.noticed(event, notice),
            EventBody::SessionUpdated(_) | EventBody::TurnStarted(_) | EventBody::TurnCompleted(_) => {}
        }
    }

    /// Returns the entries that changed since an event; `None` if that is not remembered.
    pub(super) fn touched_since(&self, seq: u64) -> Option<Vec<u32>> {
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
    pub(super) fn push(&mut self, event: &Event, line: EntryRecord) -> u32 {
        let n = self.len();
        self.lines.push(line);
        self.settle(n, event);
        self.note(n, event.seq);
        n
    }

    /// Records a change of an entry other than added text.
    pub(super) fn touch(&mut self, n: u32, seq: u64) -> Option<&mut EntryRecord> {
        self.note(n, seq);
        let line = self.lines.get_mut(usize::try_from(n).ok()?)?;
        (line.last, line.stamp) = (seq, seq);
        Some(line)
    }

    /// Remembers that an entry changed.
    pub(super) fn note(&mut self, n: u32, seq: u64) {
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

    fn asked(&mut self, event: &Event, request: &RequestOpened) {
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
