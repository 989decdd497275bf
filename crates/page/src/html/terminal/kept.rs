//! The lines that are shown: the first and the last ones. What is between them is only counted, as it comes.

use std::collections::VecDeque;

use super::style::Style;
use crate::html::cut::Gap;

/// So many lines and bytes are shown at the beginning and at the end.
const HEAD: (usize, usize) = (300, 75_000);
const TAIL: (usize, usize) = (100, 25_000);

/// A line.
pub(super) enum Row {
    /// Pieces of text with their styles; more was printed than is kept.
    Line(Vec<(Style, String)>, bool),
    /// Something was not looked at.
    Skipped(Gap),
}

impl Row {
    /// What is left out when this line is.
    fn gap(&self) -> Gap {
        match self {
            Self::Line(runs, _) => Gap { lines: 1, bytes: 1 + runs.iter().map(|(_, text)| text.len()).sum::<usize>() },
            Self::Skipped(gap) => *gap,
        }
    }

    /// How much there is to show.
    fn size(&self) -> usize {
        if matches!(self, Self::Skipped(_)) { 1 } else { self.gap().bytes }
    }
}

/// What is shown.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) head: Vec<Row>,
    head_size: usize,
    /// What is left out behind the head.
    pub(super) dropped: Gap,
    pub(super) tail: VecDeque<Row>,
    tail_size: usize,
}

impl Kept {
    pub(super) fn push(&mut self, row: Row) {
        if self.tail.is_empty() && self.head.len() < HEAD.0 && self.head_size < HEAD.1 {
            self.head_size += row.size();
            self.head.push(row);
            return;
        }
        self.tail_size += row.size();
        self.tail.push_back(row);
        while self.tail.len() > 1 && (self.tail.len() > TAIL.0 || self.tail_size > TAIL.1) {
            let Some(first) = self.tail.pop_front() else { break };
            self.tail_size -= first.size();
            let gap = first.gap();
            self.dropped.lines += gap.lines;
            self.dropped.bytes += gap.bytes;
        }
    }
}
