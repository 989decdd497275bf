//! Long texts made short: the first lines, how many more, the last lines; and lines made to fit a width. The cost is
//! that of what is shown, and of counting lines.

use unicode_width::UnicodeWidthChar as _;

/// No line that is shown is longer, where no width is known.
pub const LONGEST: usize = 2_000;

/// More lines, rows and columns than any text has.
pub const WHOLE: usize = 1 << 40;

/// A text in parts: what is shown of it, and how many lines are not.
pub struct Folded<'a> {
    /// The first lines.
    pub head: Vec<&'a str>,
    /// How many lines are left out.
    pub more: usize,
    /// The last lines.
    pub tail: Vec<&'a str>,
}

/// Folds a text so that at most `head + tail` lines remain. What would leave out only a line or two is not folded.
pub fn fold(text: &str, head: usize, tail: usize) -> Folded<'_> {
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        return Folded { head: Vec::new(), more: 0, tail: Vec::new() };
    }
    let lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count();
    if lines <= head + tail + 2 {
        return Folded { head: text.split('\n').collect(), more: 0, tail: Vec::new() };
    }
    let mut last: Vec<&str> = text.rsplit('\n').take(tail).collect();
    last.reverse();
    Folded { head: text.split('\n').take(head).collect(), more: lines - head - tail, tail: last }
}

/// Returns the beginning of a text, cut at a character boundary within `bytes`.
pub fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// One character on its way to a line, and which part of the line it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The character.
    pub c: char,
    /// The part.
    pub part: usize,
    /// Its columns.
    pub width: usize,
}

/// Returns the characters of a line that fit into `columns`, and whether there are more.
pub fn cells<'a>(parts: impl IntoIterator<Item = &'a str>, columns: usize) -> (Vec<Cell>, bool) {
    let (mut cells, mut used) = (Vec::new(), 0);
    // Marks without a width pile up on one column for ever.
    let most = columns.saturating_mul(3) + 16;
    for (part, text) in parts.into_iter().enumerate() {
        for c in text.chars() {
            let (c, width) = if c == '\t' { (' ', TAB - used % TAB) } else { (c, c.width().unwrap_or(0)) };
            if used + width > columns || cells.len() >= most {
                return (cells, true);
            }
            used += width;
            let first = Cell { c, part, width: if c == ' ' { 1 } else { width } };
            cells.extend(std::iter::repeat_n(first, if c == ' ' { width } else { 1 }));
        }
    }
    (cells, false)
}

/// The distance of tab stops, in columns.
const TAB: usize = 4;

/// Cuts cells to a width; a cut is marked.
pub fn cut(mut cells: Vec<Cell>, more: bool, columns: usize) -> Vec<Cell> {
    if more {
        let mut used: usize = cells.iter().map(|cell| cell.width).sum();
        while used + 1 > columns.max(1)
            && let Some(last) = cells.pop()
        {
            used -= last.width;
        }
        let part = cells.last().map_or(0, |cell| cell.part);
        cells.push(Cell { c: '…', part, width: 1 });
    }
    cells
}

/// Breaks cells into rows of a width, between words where there are some.
pub fn wrap(cells: &[Cell], columns: usize) -> Vec<&[Cell]> {
    let (mut rows, mut rest) = (Vec::new(), cells);
    while !rest.is_empty() {
        let mut used = 0;
        let fits = rest.iter().take_while(|cell| {
            used += cell.width;
            used <= columns
        });
        let fits = fits.count().max(1);
        let end = if fits == rest.len() { fits } else { word_end(rest, fits) };
        let (row, after) = rest.split_at(end);
        rows.push(row);
        rest = after;
    }
    rows
}

/// Where to break before `fits`: behind a space that is not too far back.
fn word_end(cells: &[Cell], fits: usize) -> usize {
    let row = cells.get(..fits).unwrap_or(cells);
    let space = row.iter().rposition(|cell| cell.c == ' ').map(|at| at + 1);
    space.filter(|at| *at > fits / 2).unwrap_or(fits)
}

#[cfg(test)]
mod tests {
    use super::{cells, cut, fold, wrap};

    fn text(cells: &[super::Cell]) -> String {
        cells.iter().map(|cell| cell.c).collect()
    }

    #[test]
    fn folding_keeps_both_ends() {
        let lines = (1..=9).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let folded = fold(&lines, 3, 2);
        assert_eq!((folded.head, folded.more, folded.tail), (vec!["1", "2", "3"], 4, vec!["8", "9"]));
        assert_eq!(fold(&lines, 4, 3).more, 0, "two lines are not worth a fold");
        assert!(fold("\n\n", 1, 1).head.is_empty());
    }

    #[test]
    fn lines_are_cut_by_what_they_take() {
        for (given, columns, shown) in [
            ("short", 10, "short"),
            ("exactly10!", 10, "exactly10!"),
            ("longer than ten", 10, "longer th…"),
            ("日本語日本語", 7, "日本語…"),
            ("a\tb", 10, "a   b"),
            ("anything", 0, "…"),
        ] {
            let (all, more) = cells([given], columns);
            assert_eq!(text(&cut(all, more, columns)), shown, "{given}");
        }
    }

    #[test]
    fn rows_break_between_words() {
        let (all, _) = cells(["the quick brown fox averyveryverylongword"], 100);
        let rows: Vec<String> = wrap(&all, 12).into_iter().map(text).collect();
        assert_eq!(rows, ["the quick ", "brown fox ", "averyveryver", "ylongword"]);
    }

    #[test]
    fn marks_without_a_width_do_not_pile_up_for_ever() {
        let (all, more) = cells([&*format!("a{}", "\u{301}".repeat(1 << 20))], 80);
        assert!(more && all.len() < 300);
    }
}
