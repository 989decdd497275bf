//! A growing text: its finished part and the rest. The result depends only on the pieces in which the text arrived, so
//! that readers who join later see the same.

use switchboard_event::Field;

use super::EntryKind;
use crate::html::{SafeHtml, element, finished, line, markdown};

/// The format of a growing text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthFormat {
    /// Markdown.
    Text,
    /// Terminal output.
    Output,
    /// Plain text.
    Plain,
}

impl GrowthFormat {
    /// Returns the format of a field of an entry while it grows; `None` if it is only shown once complete.
    #[must_use]
    pub fn of(kind: EntryKind, field: Field) -> Option<Self> {
        match (kind, field) {
            (EntryKind::Answer | EntryKind::Plan, Field::Text)
            | (EntryKind::Reasoning, Field::Text | Field::Summary)
            | (EntryKind::Subagent, Field::Text | Field::Output) => Some(Self::Text),
            (EntryKind::Command | EntryKind::Tool, Field::Output) => Some(Self::Output),
            (EntryKind::Mcp | EntryKind::Unknown, Field::Output) | (EntryKind::Change, Field::Diff | Field::Output) => {
                Some(Self::Plain)
            }
            _ => None,
        }
    }

    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Output => "output",
            Self::Plain => "plain",
        }
    }
}

/// Beyond this size, no more finished parts are rendered until the text is complete.
const MAX_HTML_BYTES: usize = 1 << 20;

/// The maximum size of the unfinished part, and the size that is kept when it gets longer.
const MAX_TAIL_BYTES: usize = 24 << 10;
const KEPT_TAIL_BYTES: usize = 8 << 10;

/// A shorter unfinished part is parsed with every line.
const SHORT_TAIL_BYTES: usize = 4 << 10;

/// An unfinished Markdown block is cut at this size.
const MAX_BLOCK_BYTES: usize = 96 << 10;

/// A text that is growing.
#[derive(Clone, Debug)]
pub struct GrowingText {
    pub way: GrowthFormat,
    /// The field of the item that grows.
    pub field: Field,
    /// The finished parts.
    pub blocks: Vec<SafeHtml>,
    /// The unfinished part.
    pub tail: String,
    /// The number of times that the unfinished part was replaced.
    pub turns: u32,
    /// Whether something was omitted.
    pub cut: bool,
    /// The number of lines.
    pub lines: u32,
    /// The length of the finished parts.
    shown: usize,
    /// The length of the unfinished part when it was last parsed.
    looked: usize,
    part: u32,
    /// The start of an incomplete escape sequence.
    escape: String,
    /// The next character overwrites the line.
    over: bool,
}

impl GrowingText {
    pub(crate) fn new(field: Field, way: GrowthFormat) -> Self {
        Self {
            way,
            field,
            blocks: Vec::new(),
            shown: 0,
            looked: 0,
            tail: String::new(),
            turns: 0,
            cut: false,
            lines: 0,
            part: 0,
            escape: String::new(),
            over: false,
        }
    }

    /// Returns the approximate memory use.
    pub(crate) fn bytes(&self) -> usize {
        self.shown + self.blocks.capacity() * size_of::<SafeHtml>() + self.tail.capacity() + size_of::<Self>()
    }

    pub(crate) fn push(&mut self, part: u32, text: &str) {
        if std::mem::replace(&mut self.part, part) != part && !(self.tail.is_empty() && self.blocks.is_empty()) {
            self.add("\n\n");
        }
        self.add(text);
    }

    fn add(&mut self, text: &str) {
        let lines = text.bytes().filter(|byte| *byte == b'\n').count();
        self.lines = self.lines.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        match self.way {
            GrowthFormat::Text => {
                self.tail.push_str(text);
                // Blocks end with lines.
                if lines > 0 {
                    self.finish_blocks();
                }
                self.shorten(MAX_BLOCK_BYTES);
            }
            GrowthFormat::Output => {
                self.print(text);
                self.shorten(MAX_TAIL_BYTES);
            }
            GrowthFormat::Plain => {
                self.tail.push_str(text);
                self.shorten(MAX_TAIL_BYTES);
            }
        }
    }

    /// Renders finished blocks. They are never parsed again. A long unfinished part is parsed only after it has grown
    /// by a fraction of its size, so that the total cost stays linear.
    fn finish_blocks(&mut self) {
        let grown = self.tail.len().saturating_sub(self.looked);
        let is_time = self.tail.len() < SHORT_TAIL_BYTES || grown > self.tail.len() / 8;
        if !is_time || self.shown > MAX_HTML_BYTES {
            return;
        }
        let end = finished(&self.tail);
        self.looked = self.tail.len() - end;
        if end > 0 {
            let rest = self.tail.split_off(end);
            let block = markdown(&self.tail).html;
            self.tail = rest;
            self.finish(block);
        }
    }

    /// Omits the start of an unfinished part that is too long.
    fn shorten(&mut self, most: usize) {
        if self.tail.len() <= most {
            return;
        }
        let from = (self.tail.len() - KEPT_TAIL_BYTES..self.tail.len()).find(|at| self.tail.is_char_boundary(*at));
        self.tail = self.tail.split_off(from.unwrap_or(self.tail.len()));
        self.looked = self.tail.len();
        if !std::mem::replace(&mut self.cut, true) {
            self.finish(element("p", "cut", &[line("…")]));
        }
        self.turns += 1;
    }

    fn finish(&mut self, block: SafeHtml) {
        self.shown += block.as_str().len();
        self.blocks.push(block);
        self.turns += 1;
    }

    /// Appends terminal output: escape sequences are removed, and a line can be overwritten.
    fn print(&mut self, text: &str) {
        for c in text.chars() {
            if !self.escape.is_empty() {
                self.escape.push(c);
                if is_whole(&self.escape) {
                    self.escape.clear();
                }
                continue;
            }
            match c {
                '\x1b' => self.escape.push(c),
                // Only the next character shows whether the line is overwritten.
                '\r' => self.over = true,
                '\n' => {
                    self.over = false;
                    self.tail.push(c);
                }
                _ => {
                    if std::mem::take(&mut self.over) {
                        self.clear_line();
                    }
                    self.tail.push(c);
                }
            }
        }
    }

    fn clear_line(&mut self) {
        let start = self.tail.rfind('\n').map_or(0, |at| at + 1);
        self.tail.truncate(start);
        self.turns += 1;
    }
}

/// The maximum length of an escape sequence.
const MAX_ESCAPE_BYTES: usize = 256;

/// Returns whether an escape sequence is complete.
fn is_whole(escape: &str) -> bool {
    let mut chars = escape.chars().skip(1);
    let ends = |c: char| ('@'..='~').contains(&c);
    let whole = match chars.next() {
        None => false,
        Some('[') => escape.len() > 2 && escape.ends_with(ends),
        Some(']') => escape.ends_with('\x07') || (escape.len() > 2 && escape.ends_with("\x1b\\")),
        Some('(' | ')' | '#') => chars.next().is_some(),
        Some(_) => true,
    };
    whole || escape.len() > MAX_ESCAPE_BYTES
}

#[cfg(test)]
mod tests {
    use switchboard_event::Field;

    use super::{GrowingText, GrowthFormat, KEPT_TAIL_BYTES, MAX_TAIL_BYTES};

    fn grown(way: GrowthFormat, pieces: &[&str]) -> GrowingText {
        let mut growth = GrowingText::new(Field::Output, way);
        pieces.iter().for_each(|piece| growth.push(0, piece));
        growth
    }

    #[test]
    fn what_is_finished_leaves_the_rest() {
        let growth = grown(GrowthFormat::Text, &["# One\n\nt", "wo\n", "\n", "three"]);
        let shown: Vec<_> = growth.blocks.iter().map(crate::SafeHtml::as_str).collect();
        assert_eq!((shown.concat().as_str(), growth.tail.as_str()), ("<h1>One</h1>", "two\n\nthree"));
    }

    #[test]
    fn parts_are_paragraphs() {
        let mut growth = GrowingText::new(Field::Summary, GrowthFormat::Plain);
        growth.push(0, "one");
        growth.push(1, "two");
        growth.push(1, ", three");
        assert_eq!(growth.tail, "one\n\ntwo, three");
    }

    #[test]
    fn a_terminal_writes_over_its_lines() {
        for (pieces, shown) in [
            (&["10 %\r20 %", "\r100 %\r\nok\n"][..], "100 %\nok\n"),
            (&["a\r", "\nb"], "a\nb"),
            (&["\x1b[31mred\x1b[0m"], "red"),
            (&["\x1b[3", "1mred", "\x1b", "[0m!"], "red!"),
            (&["\x1b]0;title\x07text"], "text"),
            (&["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"], "link"),
            (&["\x1b(Bplain"], "plain"),
        ] {
            assert_eq!(grown(GrowthFormat::Output, pieces).tail, shown, "{pieces:?}");
        }
    }

    #[test]
    fn what_is_too_long_loses_its_beginning_once() {
        let piece = "é".repeat(1_000);
        let growth = grown(GrowthFormat::Output, &vec![piece.as_str(); 200]);
        assert!(
            growth.cut && growth.tail.len() <= MAX_TAIL_BYTES && growth.tail.len() >= KEPT_TAIL_BYTES,
            "{}",
            growth.tail.len()
        );
        assert_eq!(growth.blocks.len(), 1);
    }
}
