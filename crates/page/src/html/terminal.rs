//! Renders command output as a terminal would show it: colors become classes, a carriage return overwrites the line,
//! and other escape sequences are removed. There is no screen: lines only follow each other.

use std::collections::VecDeque;

use memchr::{memchr, memchr_iter, memrchr};
use vte::{Params, Parser, Perform};

use super::HtmlFragment;
use super::clip::{MAX_LINE_BYTES, OmittedText};
use super::writer::HtmlWriter;

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

fn show(rows: &TerminalRows) -> HtmlFragment {
    let mut out = HtmlWriter::default();
    out.open("pre", "term");
    rows.head.iter().for_each(|row| out.row(row));
    if rows.dropped != OmittedText::default() {
        out.row(&TerminalRow::Skipped(rows.dropped));
    }
    rows.tail.iter().for_each(|row| out.row(row));
    out.close("pre");
    out.shown(rows.head.len() + rows.tail.len())
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

/// A terminal without a screen: lines only follow each other.
#[derive(Default)]
struct TerminalScreen {
    parser: Parser,
    page: ScreenState,
}

impl TerminalScreen {
    fn print(&mut self, text: &str) {
        self.parser.advance(&mut self.page, text.as_bytes());
    }

    /// Skips output; parsing restarts after it.
    fn skip(&mut self, gap: OmittedText) {
        self.begin_anew();
        self.page.rows.push(TerminalRow::Skipped(gap));
    }

    fn begin_anew(&mut self) {
        if !self.page.cells.is_empty() {
            self.page.line_end();
        }
        self.parser = Parser::new();
        self.page.style = TerminalStyle::default();
    }

    /// Returns the lines to show.
    fn end(mut self) -> TerminalRows {
        self.begin_anew();
        self.page.rows
    }
}

#[derive(Default)]
struct ScreenState {
    rows: TerminalRows,
    /// The current line.
    cells: Vec<(TerminalStyle, char)>,
    column: usize,
    more: bool,
    style: TerminalStyle,
}

impl ScreenState {
    fn line_end(&mut self) {
        let mut runs = Vec::<(TerminalStyle, String)>::new();
        for (style, c) in self.cells.drain(..) {
            match runs.last_mut() {
                Some((same, text)) if *same == style => text.push(c),
                _ => runs.push((style, c.to_string())),
            }
        }
        self.rows.push(TerminalRow::Line(runs, std::mem::take(&mut self.more)));
        self.column = 0;
    }

    fn go(&mut self, column: usize) {
        self.column = column.min(MAX_LINE_BYTES);
    }

    /// Erases from the cursor to the end of the line, to the cursor, or all of the line.
    fn erase(&mut self, what: usize) {
        let blank = (TerminalStyle::default(), ' ');
        match what {
            0 => self.cells.truncate(self.column),
            1 => self.cells.iter_mut().take(self.column + 1).for_each(|cell| *cell = blank),
            _ => self.cells.clear(),
        }
    }
}

impl Perform for ScreenState {
    fn print(&mut self, c: char) {
        if self.column >= MAX_LINE_BYTES {
            self.more = true;
            return;
        }
        while self.cells.len() < self.column {
            self.cells.push((TerminalStyle::default(), ' '));
        }
        match self.cells.get_mut(self.column) {
            Some(cell) => *cell = (self.style, c),
            None => self.cells.push((self.style, c)),
        }
        self.column += 1;
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => self.line_end(),
            b'\r' => self.column = 0,
            b'\t' => (0..8 - self.column % 8).for_each(|_| self.print(' ')),
            8 => self.column = self.column.saturating_sub(1),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        if !intermediates.is_empty() {
            return;
        }
        let first = params.iter().next().and_then(|param| param.first()).copied().map_or(0, usize::from);
        match action {
            'm' => self.style.set(params),
            'K' => self.erase(first),
            'G' => self.go(first.saturating_sub(1)),
            'C' => self.go(self.column.saturating_add(first.max(1))),
            'D' => self.go(self.column.saturating_sub(first.max(1))),
            _ => {}
        }
    }
}

/// The maximum lines and bytes at the start and at the end.
const MAX_HEAD_LINES_AND_BYTES: (usize, usize) = (300, 75_000);
const MAX_TAIL_LINES_AND_BYTES: (usize, usize) = (100, 25_000);

enum TerminalRow {
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
struct TerminalRows {
    head: Vec<TerminalRow>,
    head_size: usize,
    /// The omitted part after the head.
    dropped: OmittedText,
    tail: VecDeque<TerminalRow>,
    tail_size: usize,
}

impl TerminalRows {
    fn push(&mut self, row: TerminalRow) {
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

/// Colors and font weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TerminalStyle {
    /// One of the 16 colors.
    text: Option<u8>,
    background: Option<u8>,
    /// A bit set; the bits are in the order of [`STYLE_CLASSES`].
    weights: u8,
}

/// SGR parameters that turn on a weight, and the class.
const STYLE_CLASSES: &[(u16, &str)] =
    &[(1, "a-bold"), (2, "a-dim"), (3, "a-italic"), (4, "a-underline"), (7, "a-inverse")];

impl TerminalStyle {
    /// Returns the classes, if there are any.
    fn classes(self) -> Option<String> {
        let mut classes = Vec::new();
        classes.extend(self.text.map(|colour| format!("a-{colour}")));
        classes.extend(self.background.map(|colour| format!("b-{colour}")));
        for (bit, (_, class)) in STYLE_CLASSES.iter().enumerate() {
            if self.weights & 1 << bit != 0 {
                classes.push((*class).to_owned());
            }
        }
        (!classes.is_empty()).then(|| classes.join(" "))
    }

    /// Applies an SGR sequence.
    fn set(&mut self, params: &Params) {
        let mut params = params.iter();
        while let Some(param) = params.next() {
            match param {
                // A color is one parameter (`38:2::255:0:0`) or several (`38;2;255;0;0`).
                [38, rest @ ..] if !rest.is_empty() => self.text = colour(rest),
                [48, rest @ ..] if !rest.is_empty() => self.background = colour(rest),
                [38] => self.text = following(&mut params),
                [48] => self.background = following(&mut params),
                [4, 0] => self.turn(4, false),
                [single, ..] => self.single(*single),
                [] => {}
            }
        }
    }

    fn single(&mut self, param: u16) {
        let of_eight = |base: u16| u8::try_from(param - base).ok();
        match param {
            0 => *self = Self::default(),
            1 | 2 | 3 | 4 | 7 => self.turn(param, true),
            21 => self.turn(4, true),
            22 => [1, 2].into_iter().for_each(|weight| self.turn(weight, false)),
            23 | 24 | 27 => self.turn(param - 20, false),
            30..=37 => self.text = of_eight(30),
            39 => self.text = None,
            40..=47 => self.background = of_eight(40),
            49 => self.background = None,
            90..=97 => self.text = of_eight(82),
            100..=107 => self.background = of_eight(92),
            _ => {}
        }
    }

    fn turn(&mut self, weight: u16, on: bool) {
        let Some(bit) = STYLE_CLASSES.iter().position(|(param, _)| *param == weight) else { return };
        if on { self.weights |= 1 << bit } else { self.weights &= !(1 << bit) }
    }
}

/// Parses the color `5:n`, `2:r:g:b` or `2:space:r:g:b`.
fn colour(params: &[u16]) -> Option<u8> {
    match params {
        [5, index, ..] => of_256(*index),
        [2, r, g, b] | [2, _, r, g, b, ..] => of_rgb([*r, *g, *b]),
        _ => None,
    }
}

/// Parses a color from the following parameters.
fn following<'a>(params: &mut impl Iterator<Item = &'a [u16]>) -> Option<u8> {
    let mut next = || params.next().and_then(|param| param.first()).copied();
    match next()? {
        5 => of_256(next()?),
        2 => of_rgb([next()?, next()?, next()?]),
        _ => None,
    }
}

/// The 16 ANSI colors as terminals show them.
const ANSI_COLORS: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];

/// Returns the nearest color for one of the 256 colors: 16 base colors, a cube with six steps, grays.
fn of_256(index: u16) -> Option<u8> {
    let index = u8::try_from(index).ok()?;
    let step = |level: u8| u16::from(level) * 40 + if level > 0 { 55 } else { 0 };
    match index {
        0..16 => Some(index),
        16..232 => {
            let cube = index - 16;
            of_rgb([step(cube / 36), step(cube / 6 % 6), step(cube % 6)])
        }
        232.. => of_rgb([8 + 10 * u16::from(index - 232); 3]),
    }
}

/// Returns the nearest color for an RGB color.
fn of_rgb(colour: [u16; 3]) -> Option<u8> {
    let distance = |known: &[u8; 3]| -> u32 {
        let apart = known.iter().zip(colour).map(|(known, c)| u16::from(*known).abs_diff(c.min(255)));
        apart.map(|apart| u32::from(apart).pow(2)).sum()
    };
    let found = ANSI_COLORS.iter().enumerate().min_by_key(|(_, known)| distance(known))?;
    u8::try_from(found.0).ok()
}

#[cfg(test)]
mod tests {
    use super::{of_256, of_rgb};

    #[test]
    fn colours_have_a_nearest() {
        assert_eq!([of_256(9), of_256(196), of_256(232), of_256(255)], [Some(9), Some(9), Some(0), Some(7)]);
        assert_eq!([of_rgb([250, 5, 3]), of_rgb([60_000, 60_000, 0])], [Some(9), Some(11)]);
        assert_eq!(of_256(256), None);
    }
}
