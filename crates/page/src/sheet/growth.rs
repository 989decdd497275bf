//! A text that is growing right now: what of it is finished, and the rest. What comes of a text depends on the pieces that
//! it came in and on nothing else, so that who comes later sees what others have seen grow.

use switchboard_event::Field;

use super::Kind;
use crate::html::{Html, element, finished, line, markdown};

/// What kind of text grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Markdown.
    Text,
    /// What a terminal shows.
    Output,
    /// Just text.
    Plain,
}

impl Way {
    /// How a field of an entry is shown while it grows; nothing if it is shown when it is whole.
    #[must_use]
    pub fn of(kind: Kind, field: Field) -> Option<Self> {
        match (kind, field) {
            (Kind::Answer | Kind::Plan, Field::Text)
            | (Kind::Reasoning, Field::Text | Field::Summary)
            | (Kind::Subagent, Field::Text | Field::Output) => Some(Self::Text),
            (Kind::Command | Kind::Tool, Field::Output) => Some(Self::Output),
            (Kind::Mcp | Kind::Unknown, Field::Output) | (Kind::Change, Field::Diff | Field::Output) => {
                Some(Self::Plain)
            }
            _ => None,
        }
    }

    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Output => "output",
            Self::Plain => "plain",
        }
    }
}

/// A finished part is not added to what is shown beyond this: the rest is shown when all of it is there.
const MOST_HTML: usize = 1 << 20;

/// The rest has at most so many bytes, of which so many stay when it gets longer.
const MOST_TAIL: usize = 24 << 10;
const KEPT_TAIL: usize = 8 << 10;

/// A shorter rest is looked at with every line.
const SHORT: usize = 4 << 10;

/// Markdown that does not come to the end of a block for so long is cut, too.
const MOST_BLOCK: usize = 96 << 10;

/// A text that is growing.
#[derive(Clone, Debug)]
pub struct Growth {
    /// What kind of text it is.
    pub way: Way,
    /// The field of the item that grows.
    pub field: Field,
    /// What is finished.
    pub blocks: Vec<Html>,
    /// The rest, as text.
    pub tail: String,
    /// How often the rest began anew.
    pub turns: u32,
    /// Something was left out.
    pub cut: bool,
    /// How many lines it has.
    pub lines: u32,
    /// How long what is finished is.
    shown: usize,
    /// How long the rest was when it was last looked at.
    looked: usize,
    part: u32,
    /// The beginning of a terminal's command.
    escape: String,
    /// What comes next is written over the line.
    over: bool,
}

impl Growth {
    pub(super) fn new(field: Field, way: Way) -> Self {
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

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.shown + self.blocks.capacity() * size_of::<Html>() + self.tail.capacity() + size_of::<Self>()
    }

    pub(super) fn push(&mut self, part: u32, text: &str) {
        if std::mem::replace(&mut self.part, part) != part && !(self.tail.is_empty() && self.blocks.is_empty()) {
            self.add("\n\n");
        }
        self.add(text);
    }

    fn add(&mut self, text: &str) {
        let lines = text.bytes().filter(|byte| *byte == b'\n').count();
        self.lines = self.lines.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        match self.way {
            Way::Text => {
                self.tail.push_str(text);
                // Blocks end with lines.
                if lines > 0 {
                    self.finish_blocks();
                }
                self.shorten(MOST_BLOCK);
            }
            Way::Output => {
                self.print(text);
                self.shorten(MOST_TAIL);
            }
            Way::Plain => {
                self.tail.push_str(text);
                self.shorten(MOST_TAIL);
            }
        }
    }

    /// What is finished is never looked at again. What is long and not finished is looked at when it has grown by a part
    /// of itself, so that all looks together cost no more than a few of the whole.
    fn finish_blocks(&mut self) {
        let grown = self.tail.len().saturating_sub(self.looked);
        let is_time = self.tail.len() < SHORT || grown > self.tail.len() / 8;
        if !is_time || self.shown > MOST_HTML {
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

    /// Leaves out the beginning of what got too long.
    fn shorten(&mut self, most: usize) {
        if self.tail.len() <= most {
            return;
        }
        let from = (self.tail.len() - KEPT_TAIL..self.tail.len()).find(|at| self.tail.is_char_boundary(*at));
        self.tail = self.tail.split_off(from.unwrap_or(self.tail.len()));
        self.looked = self.tail.len();
        if !std::mem::replace(&mut self.cut, true) {
            self.finish(element("p", "cut", &[line("…")]));
        }
        self.turns += 1;
    }

    fn finish(&mut self, block: Html) {
        self.shown += block.as_str().len();
        self.blocks.push(block);
        self.turns += 1;
    }

    /// Adds what a terminal would show: its commands are left out, and a line can be written over.
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
                // Whether the line is written over is only known with what comes next.
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

/// No command of a terminal is longer.
const LONGEST_ESCAPE: usize = 256;

/// All of a command of a terminal is there.
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
    whole || escape.len() > LONGEST_ESCAPE
}

#[cfg(test)]
mod tests {
    use switchboard_event::Field;

    use super::{Growth, KEPT_TAIL, MOST_TAIL, Way};

    fn grown(way: Way, pieces: &[&str]) -> Growth {
        let mut growth = Growth::new(Field::Output, way);
        pieces.iter().for_each(|piece| growth.push(0, piece));
        growth
    }

    #[test]
    fn what_is_finished_leaves_the_rest() {
        let growth = grown(Way::Text, &["# One\n\nt", "wo\n", "\n", "three"]);
        let shown: Vec<_> = growth.blocks.iter().map(crate::Html::as_str).collect();
        assert_eq!((shown.concat().as_str(), growth.tail.as_str()), ("<h1>One</h1>", "two\n\nthree"));
    }

    #[test]
    fn parts_are_paragraphs() {
        let mut growth = Growth::new(Field::Summary, Way::Plain);
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
            assert_eq!(grown(Way::Output, pieces).tail, shown, "{pieces:?}");
        }
    }

    #[test]
    fn what_is_too_long_loses_its_beginning_once() {
        let piece = "é".repeat(1_000);
        let growth = grown(Way::Output, &vec![piece.as_str(); 200]);
        assert!(
            growth.cut && growth.tail.len() <= MOST_TAIL && growth.tail.len() >= KEPT_TAIL,
            "{}",
            growth.tail.len()
        );
        assert_eq!(growth.blocks.len(), 1);
    }
}
