//! Renders rows as tables.

use std::ops::Range;

use super::HtmlFragment;
use super::clip::{ClippedLine, MAX_LINE_BYTES, grouped};
use super::diff::{DiffRow, DiffRowKind, DiffRows, differing_words};
use super::syntax::{HighlightToken, Highlighter, Language};
use super::writer::HtmlWriter;

/// A row with its highlighting.
struct DiffCell<'a> {
    row: DiffRow<'a>,
    tokens: Vec<HighlightToken>,
    /// The part that differs from the other side.
    changed: Option<Range<usize>>,
}

pub(crate) fn diff_table(rows: &DiffRows<'_>, path: &str) -> HtmlFragment {
    let cells = cells(&rows.all(), path);
    let has = |kind: DiffRowKind| cells.iter().any(|cell| cell.row.kind == kind);
    let is_one_sided = !has(DiffRowKind::Added) || !has(DiffRowKind::Removed);
    let mut out = HtmlWriter::default();
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

fn cells<'a>(rows: &[DiffRow<'a>], path: &str) -> Vec<DiffCell<'a>> {
    let language = Language::of_path(path);
    let mut old = language.map(Highlighter::new);
    let mut new = language.map(Highlighter::new);
    let mut cells: Vec<_> = rows.iter().map(|row| cell(*row, old.as_mut(), new.as_mut())).collect();
    mark(&mut cells);
    cells
}

/// Builds a cell. Each side has its own highlighter state.
fn cell<'a>(row: DiffRow<'a>, old: Option<&mut Highlighter>, new: Option<&mut Highlighter>) -> DiffCell<'a> {
    let (mut old, mut new) = (old, new);
    let read = |side: &mut Option<&mut Highlighter>| side.as_mut().map(|side| side.tokens(row.text));
    let tokens = match row.kind {
        DiffRowKind::Same => {
            read(&mut old);
            read(&mut new)
        }
        DiffRowKind::Added => read(&mut new),
        DiffRowKind::Removed => read(&mut old),
        DiffRowKind::Gap | DiffRowKind::Cut(_) => {
            old.iter_mut().chain(new.iter_mut()).for_each(|side| side.restart());
            None
        }
    };
    DiffCell { row, tokens: tokens.unwrap_or_default(), changed: None }
}

/// Marks the differing parts of lines that replaced each other.
fn mark(cells: &mut [DiffCell<'_>]) {
    let mut from = 0;
    while from < cells.len() {
        let (removed, added) = change(cells.get(from..).unwrap_or_default());
        for at in 0..removed.min(added) {
            let (old, new) = (from + at, from + removed + at);
            let (Some(a), Some(b)) = (cells.get(old), cells.get(new)) else { break };
            let Some((in_old, in_new)) = differing_words(a.row.text, b.row.text) else { continue };
            for (place, range) in [(old, in_old), (new, in_new)] {
                if let Some(cell) = cells.get_mut(place) {
                    cell.changed = Some(range).filter(|range| !range.is_empty());
                }
            }
        }
        from += (removed + added).max(1);
    }
}

/// Returns the number of removed lines at the start, and of added lines after them.
fn change(cells: &[DiffCell<'_>]) -> (usize, usize) {
    let removed = cells.iter().take_while(|cell| cell.row.kind == DiffRowKind::Removed).count();
    let added = cells.iter().skip(removed).take_while(|cell| cell.row.kind == DiffRowKind::Added).count();
    (removed, added)
}

impl HtmlWriter {
    /// Writes `num num text`.
    fn inline(&mut self, cell: &DiffCell<'_>) {
        self.open("tr", class(cell.row.kind));
        self.row_number(cell.row.old);
        self.row_number(cell.row.new);
        self.cell("", Some(cell));
        self.close("tr");
    }

    /// Writes `num old num new`, one row for lines that replaced each other.
    fn side(&mut self, cells: &[DiffCell<'_>]) {
        let mut rest = cells;
        while let Some((first, behind)) = rest.split_first() {
            let (removed, added) = change(rest);
            if removed + added == 0 {
                let is_same = first.row.kind == DiffRowKind::Same;
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

    fn pair(&mut self, row: &'static str, old: Option<&DiffCell<'_>>, new: Option<&DiffCell<'_>>) {
        let of = |side: Option<&DiffCell<'_>>| side.filter(|_| row.is_empty()).map_or("", |cell| class(cell.row.kind));
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

    fn cell(&mut self, class: &'static str, cell: Option<&DiffCell<'_>>) {
        self.open("td", class);
        if let Some(cell) = cell {
            self.content(cell);
        }
        self.close("td");
    }

    fn content(&mut self, cell: &DiffCell<'_>) {
        let line = ClippedLine::new(cell.row.text, MAX_LINE_BYTES);
        match (&cell.row.kind, &cell.changed) {
            (DiffRowKind::Cut(rows), _) => self.left_out(&format!("{} rows left out", grouped(*rows))),
            _ if line.left_out > 0 => self.line(&line),
            (_, Some(changed)) => self.marked(cell, changed),
            _ => self.tokens(cell.row.text, &cell.tokens),
        }
    }

    fn marked(&mut self, cell: &DiffCell<'_>, changed: &Range<usize>) {
        let parts = [0..changed.start, changed.clone(), changed.end..cell.row.text.len()];
        for (part, tag) in parts.into_iter().zip([None, Some("strong"), None]) {
            let text = cell.row.text.get(part.clone()).unwrap_or_default();
            tag.into_iter().for_each(|tag| self.open(tag, ""));
            self.tokens(text, &within(&cell.tokens, &part));
            tag.into_iter().for_each(|tag| self.close(tag));
        }
    }
}

/// Returns the tokens of a part of a line.
fn within(tokens: &[HighlightToken], part: &Range<usize>) -> Vec<HighlightToken> {
    let mut from = 0;
    let cut = tokens.iter().map(|(length, class)| {
        let token = from..from + length;
        from = token.end;
        let shared = token.end.min(part.end).saturating_sub(token.start.max(part.start));
        (shared, *class)
    });
    cut.filter(|(length, _)| *length > 0).collect()
}

fn class(kind: DiffRowKind) -> &'static str {
    match kind {
        DiffRowKind::Same => "ctx",
        DiffRowKind::Added => "add",
        DiffRowKind::Removed => "del",
        DiffRowKind::Gap => "gap",
        DiffRowKind::Cut(_) => "cut",
    }
}
