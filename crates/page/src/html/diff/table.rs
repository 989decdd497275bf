//! Rows as tables.

use std::ops::Range;

use super::{
    rows::{Kind, Row, Rows},
    words::different,
};
use crate::html::{
    Shown,
    cut::{LINE, Line, grouped},
    highlight::{Highlighter, Language, Token},
    writer::Writer,
};

/// A row, and how its text looks.
struct Cell<'a> {
    row: Row<'a>,
    tokens: Vec<Token>,
    /// What of it is really different.
    changed: Option<Range<usize>>,
}

/// The tables.
pub(super) fn show(rows: &Rows<'_>, path: &str) -> Shown {
    let cells = cells(&rows.all(), path);
    let has = |kind: Kind| cells.iter().any(|cell| cell.row.kind == kind);
    let is_one_sided = !has(Kind::Added) || !has(Kind::Removed);
    let mut out = Writer::default();
    if !is_one_sided {
        out.open("table", "diff diff-side");
        out.raw("<tbody>");
        out.side(&cells);
        out.raw("</tbody></table>");
    }
    out.open("table", if is_one_sided { "diff diff-side diff-inline" } else { "diff diff-inline" });
    out.raw("<tbody>");
    cells.iter().for_each(|cell| out.inline(cell));
    out.raw("</tbody></table>");
    out.shown(cells.len())
}

fn cells<'a>(rows: &[Row<'a>], path: &str) -> Vec<Cell<'a>> {
    let language = Language::of_path(path);
    let mut old = language.map(Highlighter::new);
    let mut new = language.map(Highlighter::new);
    let mut cells: Vec<_> = rows.iter().map(|row| cell(*row, old.as_mut(), new.as_mut())).collect();
    mark(&mut cells);
    cells
}

/// Both sides are read as the files that they are.
fn cell<'a>(row: Row<'a>, old: Option<&mut Highlighter>, new: Option<&mut Highlighter>) -> Cell<'a> {
    let (mut old, mut new) = (old, new);
    let read = |side: &mut Option<&mut Highlighter>| side.as_mut().map(|side| side.tokens(row.text));
    let tokens = match row.kind {
        Kind::Same => {
            read(&mut old);
            read(&mut new)
        }
        Kind::Added => read(&mut new),
        Kind::Removed => read(&mut old),
        Kind::Gap | Kind::Cut(_) => {
            old.iter_mut().chain(new.iter_mut()).for_each(|side| side.restart());
            None
        }
    };
    Cell { row, tokens: tokens.unwrap_or_default(), changed: None }
}

/// Marks what is different where a line took another's place.
fn mark(cells: &mut [Cell<'_>]) {
    let mut from = 0;
    while from < cells.len() {
        let (removed, added) = change(cells.get(from..).unwrap_or_default());
        for at in 0..removed.min(added) {
            let (old, new) = (from + at, from + removed + at);
            let (Some(a), Some(b)) = (cells.get(old), cells.get(new)) else { break };
            let Some((in_old, in_new)) = different(a.row.text, b.row.text) else { continue };
            for (place, range) in [(old, in_old), (new, in_new)] {
                if let Some(cell) = cells.get_mut(place) {
                    cell.changed = Some(range).filter(|range| !range.is_empty());
                }
            }
        }
        from += (removed + added).max(1);
    }
}

/// How many lines are removed here, and how many are added behind them.
fn change(cells: &[Cell<'_>]) -> (usize, usize) {
    let removed = cells.iter().take_while(|cell| cell.row.kind == Kind::Removed).count();
    let added = cells.iter().skip(removed).take_while(|cell| cell.row.kind == Kind::Added).count();
    (removed, added)
}

impl Writer {
    /// `num num text`.
    fn inline(&mut self, cell: &Cell<'_>) {
        self.open("tr", class(cell.row.kind));
        self.row_number(cell.row.old);
        self.row_number(cell.row.new);
        self.cell("", Some(cell));
        self.close("tr");
    }

    /// `num old num new`, one row for lines that took each other's place.
    fn side(&mut self, cells: &[Cell<'_>]) {
        let mut rest = cells;
        while let Some((first, behind)) = rest.split_first() {
            let (removed, added) = change(rest);
            if removed + added == 0 {
                let is_same = first.row.kind == Kind::Same;
                self.pair(class(first.row.kind), Some(first), Some(first).filter(|_| is_same));
                rest = behind;
                continue;
            }
            let (changed, behind) = rest.split_at(removed + added);
            let (old, new) = changed.split_at(removed);
            (0..removed.max(added)).for_each(|at| self.pair("", old.get(at), new.get(at)));
            rest = behind;
        }
    }

    fn pair(&mut self, row: &'static str, old: Option<&Cell<'_>>, new: Option<&Cell<'_>>) {
        let of = |side: Option<&Cell<'_>>| side.filter(|_| row.is_empty()).map_or("", |cell| class(cell.row.kind));
        self.open("tr", row);
        self.row_number(old.and_then(|cell| cell.row.old));
        self.cell(of(old), old);
        self.row_number(new.and_then(|cell| cell.row.new));
        self.cell(of(new), new);
        self.close("tr");
    }

    fn row_number(&mut self, number: Option<u64>) {
        self.open("td", "num");
        if let Some(number) = number {
            self.number(number);
        }
        self.close("td");
    }

    fn cell(&mut self, class: &'static str, cell: Option<&Cell<'_>>) {
        self.open("td", class);
        if let Some(cell) = cell {
            self.content(cell);
        }
        self.close("td");
    }

    fn content(&mut self, cell: &Cell<'_>) {
        let line = Line::new(cell.row.text, LINE);
        match (&cell.row.kind, &cell.changed) {
            (Kind::Cut(rows), _) => self.left_out(&format!("{} rows left out", grouped(*rows))),
            _ if line.left_out > 0 => self.line(&line),
            (_, Some(changed)) => self.marked(cell, changed),
            _ => self.tokens(cell.row.text, &cell.tokens),
        }
    }

    fn marked(&mut self, cell: &Cell<'_>, changed: &Range<usize>) {
        let parts = [0..changed.start, changed.clone(), changed.end..cell.row.text.len()];
        for (part, tag) in parts.into_iter().zip([None, Some("strong"), None]) {
            let text = cell.row.text.get(part.clone()).unwrap_or_default();
            tag.into_iter().for_each(|tag| self.open(tag, ""));
            self.tokens(text, &within(&cell.tokens, &part));
            tag.into_iter().for_each(|tag| self.close(tag));
        }
    }
}

/// The tokens of a part of a line.
fn within(tokens: &[Token], part: &Range<usize>) -> Vec<Token> {
    let mut from = 0;
    let cut = tokens.iter().map(|(length, class)| {
        let token = from..from + length;
        from = token.end;
        let shared = token.end.min(part.end).saturating_sub(token.start.max(part.start));
        (shared, *class)
    });
    cut.filter(|(length, _)| *length > 0).collect()
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Same => "ctx",
        Kind::Added => "add",
        Kind::Removed => "del",
        Kind::Gap => "gap",
        Kind::Cut(_) => "cut",
    }
}
