//! The fold of a session's events into its entries.

use std::collections::{HashMap, VecDeque};

use switchboard_event::{
    Body, Event, Id, RequestOpened, RequestResolved, SessionEnded, Stop, TurnCompleted, TurnStarted, Usage,
};

use super::{Facts, Growth, Kind, Line, Prices, Stage, Sums};

/// So many changes are remembered for those who were away.
const REMEMBERED: usize = 4096;

/// The entries of a session.
#[derive(Debug, Default)]
pub struct Sheet {
    /// What is known of the session as a whole.
    pub facts: Facts,
    pub(super) seq: u64,
    pub(super) lines: Vec<Line>,
    /// Items that are open.
    pub(super) open: HashMap<Id, u32>,
    /// Requests that are open.
    requests: HashMap<Id, u32>,
    /// Where something is below which others may be: by the item, and by the thread.
    pub(super) homes: HashMap<Id, u32>,
    /// What is below something that nobody has seen yet, by the item or thread.
    pub(super) orphans: HashMap<Id, Vec<u32>>,
    pub(super) growths: HashMap<u32, Growth>,
    /// How much memory they take.
    pub(super) grown: usize,
    /// The entries of turns, by their number.
    turns: HashMap<u32, u32>,
    /// What was asked last, so that it is not shown twice: where, and what came of hashing it.
    pub(super) prompt: Option<(u32, u64)>,
    touched: VecDeque<(u64, u32)>,
    /// Of what happened up to here, not all is remembered.
    floor: u64,
}

impl Sheet {
    /// The last event that it has seen.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// What is remembered of an entry.
    #[must_use]
    pub fn line(&self, n: u32) -> Option<&Line> {
        self.lines.get(usize::try_from(n).ok()?)
    }

    /// The text of an entry that is growing.
    #[must_use]
    pub fn growth(&self, n: u32) -> Option<&Growth> {
        self.growths.get(&n)
    }

    /// About how many lines each entry has.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        self.lines.iter().map(|line| line.size)
    }

    /// About how much memory it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let line = size_of::<Line>() + 2 * size_of::<(Id, u32)>() + 48;
        self.lines.len() * line + self.grown + self.touched.len() * 16 + size_of::<Self>()
    }

    /// Takes an event into account.
    pub fn see(&mut self, event: &Event, prices: &dyn Prices) {
        self.seq = event.seq;
        self.facts.see(event, prices);
        match &event.body {
            Body::SessionStarted(_) => self.began_run(event),
            Body::SessionEnded(ended) => self.ended_run(event, ended),
            Body::TurnStarted(turn) if event.thread.is_none() => self.began_turn(event, turn),
            Body::TurnCompleted(turn) if event.thread.is_none() => self.ended_turn(event, turn),
            Body::Usage(usage) => self.used(event, usage, prices),
            Body::ItemStarted(item) => self.item_started(event, item),
            Body::ItemDelta(delta) => self.item_delta(event, delta),
            Body::ItemCompleted(item) => self.item_completed(event, item),
            Body::RequestOpened(request) => self.asked(event, request),
            Body::RequestResolved(resolved) => self.answered(event, resolved),
            Body::Notice(notice) => self.noticed(event, notice),
            Body::SessionUpdated(_) | Body::TurnStarted(_) | Body::TurnCompleted(_) => {}
        }
    }

    /// The entries that changed since an event; nothing if that is not remembered.
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

    /// An entry begins. Gives its place.
    pub(super) fn push(&mut self, event: &Event, line: Line) -> u32 {
        let n = self.len();
        self.lines.push(line);
        self.settle(n, event);
        self.note(n, event.seq);
        n
    }

    /// An entry changed, in other ways than that text was added to it.
    pub(super) fn touch(&mut self, n: u32, seq: u64) -> Option<&mut Line> {
        self.note(n, seq);
        let line = self.lines.get_mut(usize::try_from(n).ok()?)?;
        (line.last, line.stamp) = (seq, seq);
        Some(line)
    }

    /// Remembers that an entry changed.
    pub(super) fn note(&mut self, n: u32, seq: u64) {
        match self.touched.back_mut() {
            Some((last, same)) if *same == n => *last = seq,
            _ => self.touched.push_back((seq, n)),
        }
        if self.touched.len() > REMEMBERED {
            self.floor = self.touched.pop_front().map_or(self.floor, |(seq, _)| seq);
        }
    }

    fn began_run(&mut self, event: &Event) {
        let id = Id::from(format!("run_{}", event.run));
        self.push(event, Line::new(Kind::Session, Stage::Completed, id, event));
    }

    fn ended_run(&mut self, event: &Event, ended: &SessionEnded) {
        let stage = match ended.reason {
            switchboard_event::EndReason::Completed => Stage::Completed,
            switchboard_event::EndReason::Cancelled => Stage::Interrupted,
            _ => Stage::Failed,
        };
        self.prompt = None;
        self.push(event, Line::new(Kind::Session, stage, Id::from(format!("end_{}", event.run)), event));
    }

    fn began_turn(&mut self, event: &Event, turn: &TurnStarted) {
        let number = event.turn.unwrap_or_default();
        let line = Line::new(Kind::Turn, Stage::Running, Id::from(format!("turn_{number}")), event);
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

    fn used(&mut self, event: &Event, usage: &Usage, prices: &dyn Prices) {
        if usage.cumulative {
            return;
        }
        let Some(n) = event.turn.and_then(|turn| self.turns.get(&turn)).copied() else { return };
        if let Some(line) = self.touch(n, event.seq) {
            line.sums.get_or_insert_with(|| Box::new(Sums::default())).add(usage, prices);
        }
    }

    fn asked(&mut self, event: &Event, request: &RequestOpened) {
        let mut line = Line::new(Kind::Request, Stage::Open, request.request.clone(), event);
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
