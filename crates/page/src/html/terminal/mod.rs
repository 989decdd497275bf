//! Renders command output as a terminal would show it: colors become classes, a carriage return overwrites the line,
//! and other escape sequences are removed. There is no screen: lines only follow each other.

mod colour;
mod kept;
mod screen;
mod style;

use memchr::{memchr, memchr_iter, memrchr};

use super::{HtmlFragment, cut::OmittedText, writer::HtmlWriter};
use kept::{TerminalRow, TerminalRows};
use screen::TerminalScreen;

/// The number of bytes to parse at the start and at the end of long output.
const MAX_PARSED_BYTES: usize = 128 << 10;

/// Beyond this size, the HTML of output has no more styles.
const MAX_STYLED_HTML_BYTES: usize = 1 << 20;

/// Renders the output of a command in a `<pre class="term">`.
#[must_use]
pub fn terminal(text: &str) -> HtmlFragment {
    let (head, gap, tail) = ends(text);
    let mut screen = TerminalScreen::default();
    screen.print(head);
    if let Some(gap) = gap {
        screen.skip(gap);
        screen.print(tail);
    }
    show(&screen.end())
}

/// Splits a long text into a head, a tail and the part between them.
fn ends(text: &str) -> (&str, Option<OmittedText>, &str) {
    if text.len() <= 2 * MAX_PARSED_BYTES {
        return (text, None, "");
    }
    let (head, rest) = text.split_at(after_line(text, text.floor_char_boundary(MAX_PARSED_BYTES)));
    let start = rest.ceil_char_boundary(rest.len().saturating_sub(MAX_PARSED_BYTES));
    let (middle, tail) =
        rest.split_at(memchr(b'\n', rest.split_at(start).1.as_bytes()).map_or(start, |at| start + at + 1));
    let gap = OmittedText { lines: memchr_iter(b'\n', middle.as_bytes()).count(), bytes: middle.len() };
    (head, Some(gap), tail)
}

/// Returns the end of the last complete line before a position, or the position.
fn after_line(text: &str, place: usize) -> usize {
    memrchr(b'\n', text.split_at(place).0.as_bytes()).map_or(place, |at| at + 1)
}

fn show(kept: &TerminalRows) -> HtmlFragment {
    let mut out = HtmlWriter::default();
    out.open("pre", "term");
    kept.head.iter().for_each(|row| out.row(row));
    if kept.dropped != OmittedText::default() {
        out.row(&TerminalRow::Skipped(kept.dropped));
    }
    kept.tail.iter().for_each(|row| out.row(row));
    out.close("pre");
    out.shown(kept.head.len() + kept.tail.len())
}

impl HtmlWriter {
    fn row(&mut self, row: &TerminalRow) {
        match row {
            TerminalRow::Skipped(gap) => self.gap(*gap),
            TerminalRow::Line(runs, more) => {
                for (style, text) in runs {
                    let classes = if self.len() < MAX_STYLED_HTML_BYTES { style.classes() } else { None };
                    self.piece(text, classes.as_deref());
                }
                if *more {
                    self.left_out("the rest of this line left out");
                }
            }
        }
        self.raw("\n");
    }
}
