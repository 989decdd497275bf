//! Buffers standard error until the outcome of the run is known. Only the last lines are kept, because they usually
//! explain a failure.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Limits of the buffer: an agent may write to standard error for days.
const MAX_HELD_LINES: usize = 1_000;
const MAX_HELD_BYTES: usize = 256 << 10;

/// The last lines of standard error.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StderrTail {
    lines: VecDeque<String>,
    bytes: usize,
}

impl StderrTail {
    /// Appends a line and drops the oldest lines above the limits. An oversized line keeps only its end.
    pub fn push(&mut self, line: &str) {
        let line = line_tail(line);
        self.bytes += line.len();
        self.lines.push_back(line.to_owned());
        while self.lines.len() > MAX_HELD_LINES || self.bytes > MAX_HELD_BYTES {
            self.bytes -= self.lines.pop_front().map_or(0, |line| line.len());
        }
    }

    /// Removes and returns all lines.
    pub fn take(&mut self) -> VecDeque<String> {
        self.bytes = 0;
        std::mem::take(&mut self.lines)
    }
}

fn line_tail(line: &str) -> &str {
    let cut = line.len().saturating_sub(MAX_HELD_BYTES);
    let cut = (cut..line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line.get(cut..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{MAX_HELD_BYTES, MAX_HELD_LINES, StderrTail};

    #[test]
    fn the_last_lines_are_kept() {
        let mut held = StderrTail::default();
        (0..MAX_HELD_LINES + 5).for_each(|n| held.push(&n.to_string()));
        let lines = held.take();
        assert_eq!(lines.len(), MAX_HELD_LINES);
        assert_eq!(lines.front().map(String::as_str), Some("5"));
        assert!(held.take().is_empty());
    }

    #[test]
    fn a_huge_line_is_cut_between_characters() {
        let mut held = StderrTail::default();
        held.push("short");
        held.push(&"é".repeat(MAX_HELD_BYTES));
        held.push("x");
        let lines = held.take();
        assert!(lines.iter().map(String::len).sum::<usize>() <= MAX_HELD_BYTES);
        assert_eq!(lines.back().map(String::as_str), Some("x"));
    }
}
