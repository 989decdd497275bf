//! The rows of a change, of which only the first and the last are kept.

use std::collections::VecDeque;

use super::Tally;

/// So many rows are kept at the beginning and at the end.
const HEAD: usize = 300;
const TAIL: usize = 100;

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The same on both sides.
    Same,
    /// Only in the new file.
    Added,
    /// Only in the old file.
    Removed,
    /// Lines between hunks are not there; its text says where the next hunk stands.
    Gap,
    /// So many rows are left out; its text is empty.
    Cut(usize),
}

/// A row: its numbers, where they are known, and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) kind: Kind,
    pub(super) old: Option<u64>,
    pub(super) new: Option<u64>,
    pub(super) text: &'a str,
}

/// Lines without their ends. Carriage returns are part of the end unless only some lines have one: then they are what
/// changed, maybe, and must be seen.
pub(super) fn lines<'a>(text: &'a str, is_mixed: bool) -> impl Iterator<Item = &'a str> {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').filter(move |_| !text.is_empty());
    lines.map(move |line| if is_mixed { line } else { line.strip_suffix('\r').unwrap_or(line) })
}

/// Some lines end with a carriage return, and some do not.
pub(super) fn is_mixed<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let (mut with, mut without) = (false, false);
    for line in lines {
        if line.ends_with('\r') { with = true } else { without = true }
    }
    with && without
}

/// The rows that are shown.
#[derive(Default)]
pub(super) struct Rows<'a> {
    head: Vec<Row<'a>>,
    left_out: usize,
    tail: VecDeque<Row<'a>>,
    pub(super) tally: Tally,
}

impl<'a> Rows<'a> {
    pub(super) fn push(&mut self, row: Row<'a>) {
        match row.kind {
            Kind::Added => self.tally.added += 1,
            Kind::Removed => self.tally.removed += 1,
            Kind::Same | Kind::Gap | Kind::Cut(_) => {}
        }
        if self.head.len() < HEAD {
            self.head.push(row);
            return;
        }
        self.tail.push_back(row);
        if self.tail.len() > TAIL {
            self.tail.pop_front();
            self.left_out += 1;
        }
    }

    pub(super) fn gap(&mut self, text: &'a str) {
        // A gap before everything says nothing unless it has a text.
        if !self.head.is_empty() || !text.is_empty() {
            self.push(Row { kind: Kind::Gap, old: None, new: None, text });
        }
    }

    /// The rows in order, and a cut where some are left out.
    pub(super) fn all(&self) -> Vec<Row<'a>> {
        let cut = Row { kind: Kind::Cut(self.left_out), old: None, new: None, text: "" };
        let cut = (self.left_out > 0).then_some(cut);
        self.head.iter().copied().chain(cut).chain(self.tail.iter().copied()).collect()
    }
}
