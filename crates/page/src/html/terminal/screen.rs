//! The lines that a terminal would show. The parser is the one of a real terminal; of what it tells only printing,
//! colours and moves within the line are followed.

use vte::{Params, Parser, Perform};

use super::{
    kept::{Kept, Row},
    style::Style,
};
use crate::html::cut::{Gap, LINE};

/// Lines that follow each other.
#[derive(Default)]
pub(super) struct Screen {
    parser: Parser,
    page: Page,
}

impl Screen {
    pub(super) fn print(&mut self, text: &str) {
        self.parser.advance(&mut self.page, text.as_bytes());
    }

    /// Something is not looked at; what follows begins anew.
    pub(super) fn skip(&mut self, gap: Gap) {
        self.begin_anew();
        self.page.kept.push(Row::Skipped(gap));
    }

    fn begin_anew(&mut self) {
        if !self.page.cells.is_empty() {
            self.page.line_end();
        }
        self.parser = Parser::new();
        self.page.style = Style::default();
    }

    /// The lines that are shown.
    pub(super) fn end(mut self) -> Kept {
        self.begin_anew();
        self.page.kept
    }
}

#[derive(Default)]
struct Page {
    kept: Kept,
    /// The line that is being printed.
    cells: Vec<(Style, char)>,
    column: usize,
    more: bool,
    style: Style,
}

impl Page {
    fn line_end(&mut self) {
        let mut runs = Vec::<(Style, String)>::new();
        for (style, c) in self.cells.drain(..) {
            match runs.last_mut() {
                Some((same, text)) if *same == style => text.push(c),
                _ => runs.push((style, c.to_string())),
            }
        }
        self.kept.push(Row::Line(runs, std::mem::take(&mut self.more)));
        self.column = 0;
    }

    fn go(&mut self, column: usize) {
        self.column = column.min(LINE);
    }

    /// Erases from the cursor to the end of the line, to the cursor, or all of the line.
    fn erase(&mut self, what: usize) {
        let blank = (Style::default(), ' ');
        match what {
            0 => self.cells.truncate(self.column),
            1 => self.cells.iter_mut().take(self.column + 1).for_each(|cell| *cell = blank),
            _ => self.cells.clear(),
        }
    }
}

impl Perform for Page {
    fn print(&mut self, c: char) {
        if self.column >= LINE {
            self.more = true;
            return;
        }
        while self.cells.len() < self.column {
            self.cells.push((Style::default(), ' '));
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
