//! What an agent prints on its standard error: line by line, and the end of it for the case that it dies.

use std::collections::VecDeque;

use crate::mask::Mask;

/// So many lines are kept for an error message.
const LINES: usize = 12;

/// A line is cut here: nobody reads more of an error.
const LONGEST: usize = 4 << 10;

/// Lines of text from bytes as they come.
pub struct Stderr {
    mask: Mask,
    partial: Vec<u8>,
    tail: VecDeque<String>,
}

impl Stderr {
    /// Nothing was printed yet.
    pub fn new(mask: Mask) -> Self {
        Self { mask, partial: Vec::new(), tail: VecDeque::new() }
    }

    /// Takes bytes; gives the lines that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for byte in bytes {
            if *byte == b'\n' {
                lines.extend(self.line());
            } else if self.partial.len() < LONGEST + self.mask.longest() {
                self.partial.push(*byte);
            }
        }
        lines
    }

    /// Gives what is left without an end of line.
    pub fn finish(&mut self) -> Option<String> {
        self.line()
    }

    fn line(&mut self) -> Option<String> {
        let bytes = std::mem::take(&mut self.partial);
        // Cut when it is covered: half a secret is not recognized.
        let covered = self.mask.cover(&bytes);
        let line = String::from_utf8_lossy(covered.get(..LONGEST).unwrap_or(&covered)).trim_end().to_owned();
        if line.is_empty() {
            return None;
        }
        if self.tail.len() == LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line.clone());
        Some(line)
    }

    /// The last lines.
    pub fn tail(&self) -> String {
        self.tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}
