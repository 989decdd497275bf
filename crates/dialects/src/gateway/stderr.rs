//! Lines on standard error, held back until it is known whether the run failed. The last ones say why it did, so
//! they are the ones that are kept.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// How much is kept: an agent may complain for days.
const LINES: usize = 1_000;
const BYTES: usize = 256 << 10;

/// The last lines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HeldLines {
    lines: VecDeque<String>,
    bytes: usize,
}

impl HeldLines {
    /// Keeps a line, and drops the oldest ones if there are too many. Of a line that is too long the end is kept.
    pub fn push(&mut self, line: &str) {
        let line = end_of(line);
        self.bytes += line.len();
        self.lines.push_back(line.to_owned());
        while self.lines.len() > LINES || self.bytes > BYTES {
            self.bytes -= self.lines.pop_front().map_or(0, |line| line.len());
        }
    }

    /// Takes all lines out.
    pub fn take(&mut self) -> VecDeque<String> {
        self.bytes = 0;
        std::mem::take(&mut self.lines)
    }
}

fn end_of(line: &str) -> &str {
    let cut = line.len().saturating_sub(BYTES);
    let cut = (cut..line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line.get(cut..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{BYTES, HeldLines, LINES};

    #[test]
    fn the_last_lines_are_kept() {
        let mut held = HeldLines::default();
        (0..LINES + 5).for_each(|n| held.push(&n.to_string()));
        let lines = held.take();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines.front().map(String::as_str), Some("5"));
        assert!(held.take().is_empty());
    }

    #[test]
    fn a_huge_line_is_cut_between_characters() {
        let mut held = HeldLines::default();
        held.push("short");
        held.push(&"é".repeat(BYTES));
        held.push("x");
        let lines = held.take();
        assert!(lines.iter().map(String::len).sum::<usize>() <= BYTES);
        assert_eq!(lines.back().map(String::as_str), Some("x"));
    }
}
