//! The shown lines: the first and the last ones. Lines between them are only counted.

use std::collections::VecDeque;

use super::style::TerminalStyle;
use crate::html::cut::OmittedText;

/// The maximum lines and bytes at the start and at the end.
const MAX_HEAD_LINES_AND_BYTES: (usize, usize) = (300, 75_000);
const MAX_TAIL_LINES_AND_BYTES: (usize, usize) = (100, 25_000);

pub(super) enum TerminalRow {
    /// Text with styles; the flag is set if the line was cut.
    Line(Vec<(TerminalStyle, String)>, bool),
    /// Output that was not parsed.
    Skipped(OmittedText),
}

impl TerminalRow {
    /// Returns the size of the line as omitted text.
    fn gap(&self) -> OmittedText {
        match self {
            Self::Line(runs, _) => {
                OmittedText { lines: 1, bytes: 1 + runs.iter().map(|(_, text)| text.len()).sum::<usize>() }
            }
            Self::Skipped(gap) => *gap,
        }
    }

    /// Returns the number of bytes to show.
    fn size(&self) -> usize {
        if matches!(self, Self::Skipped(_)) { 1 } else { self.gap().bytes }
    }
}

/// The rows to show.
#[derive(Default)]
pub(super) struct TerminalRows {
    pub(super) head: Vec<TerminalRow>,
    head_size: usize,
    /// The omitted part after the head.
    pub(super) dropped: OmittedText,
    pub(super) tail: VecDeque<TerminalRow>,
    tail_size: usize,
}

impl TerminalRows {
    pub(super) fn push(&mut self, row: TerminalRow) {
        if self.tail.is_empty()
            && self.head.len() < MAX_HEAD_LINES_AND_BYTES.0
            && self.head_size < MAX_HEAD_LINES_AND_BYTES.1
        {
            self.head_size += row.size();
            self.head.push(row);
            return;
        }
        self.tail_size += row.size();
        self.tail.push_back(row);
        while self.tail.len() > 1
            && (self.tail.len() > MAX_TAIL_LINES_AND_BYTES.0 || self.tail_size > MAX_TAIL_LINES_AND_BYTES.1)
        {
            let Some(first) = self.tail.pop_front() else { break };
            self.tail_size -= first.size();
            let gap = first.gap();
            self.dropped.lines += gap.lines;
            self.dropped.bytes += gap.bytes;
        }
    }
}
