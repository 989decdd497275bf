//! What a command printed, as a terminal would show it: colours become classes, a carriage return writes over the line,
//! and every other escape sequence is gone. There is no screen: lines only follow each other.

mod colour;
mod kept;
mod screen;
mod style;

use memchr::{memchr, memchr_iter, memrchr};

use super::{Shown, cut::Gap, writer::Writer};
use kept::{Kept, Row};
use screen::Screen;

/// Of longer output only the beginning and the end are looked at, each so many bytes.
const LOOKED_AT: usize = 128 << 10;

/// The HTML of output has no more styles beyond this: each costs more than it shows.
const STYLED: usize = 1 << 20;

/// Output of a command in a `<pre class="term">`.
#[must_use]
pub fn terminal(text: &str) -> Shown {
    let (head, gap, tail) = ends(text);
    let mut screen = Screen::default();
    screen.print(head);
    if let Some(gap) = gap {
        screen.skip(gap);
        screen.print(tail);
    }
    show(&screen.end())
}

/// The beginning and the end of a long text, and what is between them.
fn ends(text: &str) -> (&str, Option<Gap>, &str) {
    if text.len() <= 2 * LOOKED_AT {
        return (text, None, "");
    }
    let (head, rest) = text.split_at(after_line(text, text.floor_char_boundary(LOOKED_AT)));
    let start = rest.ceil_char_boundary(rest.len().saturating_sub(LOOKED_AT));
    let (middle, tail) =
        rest.split_at(memchr(b'\n', rest.split_at(start).1.as_bytes()).map_or(start, |at| start + at + 1));
    let gap = Gap { lines: memchr_iter(b'\n', middle.as_bytes()).count(), bytes: middle.len() };
    (head, Some(gap), tail)
}

/// The end of the last whole line before a place, or the place.
fn after_line(text: &str, place: usize) -> usize {
    memrchr(b'\n', text.split_at(place).0.as_bytes()).map_or(place, |at| at + 1)
}

fn show(kept: &Kept) -> Shown {
    let mut out = Writer::default();
    out.open("pre", "term");
    kept.head.iter().for_each(|row| out.row(row));
    if kept.dropped != Gap::default() {
        out.row(&Row::Skipped(kept.dropped));
    }
    kept.tail.iter().for_each(|row| out.row(row));
    out.close("pre");
    out.shown(kept.head.len() + kept.tail.len())
}

impl Writer {
    fn row(&mut self, row: &Row) {
        match row {
            Row::Skipped(gap) => self.gap(*gap),
            Row::Line(runs, more) => {
                for (style, text) in runs {
                    let classes = if self.len() < STYLED { style.classes() } else { None };
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
