//! The rows of a change, limited to the first and the last.

use std::collections::VecDeque;

use super::DiffStat;

/// The maximum number of rows at the start and at the end.
const MAX_HEAD_ROWS: usize = 300;
const MAX_TAIL_ROWS: usize = 100;

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiffRowKind {
    /// The same on both sides.
    Same,
    /// Only in the new file.
    Added,
    /// Only in the old file.
    Removed,
    /// Missing lines between hunks; the text is the heading of the next hunk.
    Gap,
    /// The number of omitted rows; the text is empty.
    Cut(usize),
}

/// A row: its line numbers, where known, and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiffRow<'a> {
    pub(super) kind: DiffRowKind,
    pub(super) old: Option<u64>,
    pub(super) new: Option<u64>,
    pub(super) text: &'a str,
}

/// Splits a text into lines. Carriage returns are part of the line end unless only some lines have one: then they may
/// be the change itself and must be visible.
pub(super) fn lines(text: &str, is_mixed: bool) -> impl Iterator<Item = &str> {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').filter(move |_| !text.is_empty());
    lines.map(move |line| if is_mixed { line } else { line.strip_suffix('\r').unwrap_or(line) })
}

/// Returns whether some lines end with a carriage return and some do not.
pub(super) fn is_mixed<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let (mut with, mut without) = (false, false);
    for line in lines {
        if line.ends_with('\r') { with = true } else { without = true }
    }
    with && without
}

#[derive(Default)]
pub(super) struct DiffRows<'a> {
    head: Vec<DiffRow<'a>>,
    left_out: usize,
    tail: VecDeque<DiffRow<'a>>,
    pub(super) tally: DiffStat,
}

impl<'a> DiffRows<'a> {
    pub(super) fn push(&mut self, row: DiffRow<'a>) {
        match row.kind {
            DiffRowKind::Added => self.tally.added += 1,
            DiffRowKind::Removed => self.tally.removed += 1,
            DiffRowKind::Same | DiffRowKind::Gap | DiffRowKind::Cut(_) => {}
        }
        if self.head.len() < MAX_HEAD_ROWS {
            self.head.push(row);
            return;
        }
        self.tail.push_back(row);
        if self.tail.len() > MAX_TAIL_ROWS {
            self.tail.pop_front();
            self.left_out += 1;
        }
    }

    pub(super) fn gap(&mut self, text: &'a str) {
        // A gap at the start means nothing unless it has a text.
        if !self.head.is_empty() || !text.is_empty() {
            self.push(DiffRow { kind: DiffRowKind::Gap, old: None, new: None, text });
        }
    }

    /// Returns the rows in order, with a `Cut` row where some are omitted.
    pub(super) fn all(&self) -> Vec<DiffRow<'a>> {
        let cut = DiffRow { kind: DiffRowKind::Cut(self.left_out), old: None, new: None, text: "" };
        let cut = (self.left_out > 0).then_some(cut);
        self.head.iter().copied().chain(cut).chain(self.tail.iter().copied()).collect()
    }
}
