//! The lines that a terminal would show. Uses the parser of a real terminal, but handles only printing, colors and
//! cursor movement within the line.

use vte::{Params, Parser, Perform};

use super::{
    kept::{TerminalRow, TerminalRows},
    style::TerminalStyle,
};
use crate::html::cut::{MAX_LINE_BYTES, OmittedText};

/// A terminal without a screen: lines only follow each other.
#[derive(Default)]
pub(super) struct TerminalScreen {
    parser: Parser,
    page: ScreenState,
}

impl TerminalScreen {
    pub(super) fn print(&mut self, text: &str) {
        self.parser.advance(&mut self.page, text.as_bytes());
    }

    /// Skips output; parsing restarts after it.
    pub(super) fn skip(&mut self, gap: OmittedText) {
        self.begin_anew();
        self.page.kept.push(TerminalRow::Skipped(gap));
    }

    fn begin_anew(&mut self) {
        if !self.page.cells.is_empty() {
            self.page.line_end();
        }
        self.parser = Parser::new();
        self.page.style = TerminalStyle::default();
    }

    /// Returns the lines to show.
    pub(super) fn end(mut self) -> TerminalRows {
        self.begin_anew();
        self.page.kept
    }
}

#[derive(Default)]
struct ScreenState {
    kept: TerminalRows,
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
        self.kept.push(TerminalRow::Line(runs, std::mem::take(&mut self.more)));
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
