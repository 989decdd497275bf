//! Shortens long texts to their first and last lines, and lines to a width. The cost depends on what is shown, except
//! for counting lines.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Maximum width of a line if the terminal's is not known.
pub const MAX_LINE_COLUMNS: usize = 2_000;

/// More lines, rows and columns than any text has.
pub const UNLIMITED: usize = 1 << 40;

pub struct FoldedText<'a> {
    pub head: Vec<&'a str>,
    /// The number of lines in between.
    pub more: usize,
    pub tail: Vec<&'a str>,
}

/// Folds a text to `head + tail` lines, unless only one or two lines would be left out.
pub fn fold_lines(text: &str, head: usize, tail: usize) -> FoldedText<'_> {
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        return FoldedText { head: Vec::new(), more: 0, tail: Vec::new() };
    }
    let lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count();
    if lines <= head + tail + 2 {
        return FoldedText { head: text.split('\n').collect(), more: 0, tail: Vec::new() };
    }
    let mut last: Vec<&str> = text.rsplit('\n').take(tail).collect();
    last.reverse();
    FoldedText { head: text.split('\n').take(head).collect(), more: lines - head - tail, tail: last }
}

/// Returns the beginning of a text, cut at a character boundary within `bytes`.
pub fn truncate_bytes(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// A character of a line that consists of several parts.
#[derive(Clone, Copy, Debug)]
pub struct TextCell {
    pub c: char,
    /// The index of the part.
    pub part: usize,
    pub width: usize,
}

/// Returns the characters of a line that fit into `columns`, and whether there are more.
pub fn fit_cells<'a>(parts: impl IntoIterator<Item = &'a str>, columns: usize) -> (Vec<TextCell>, bool) {
    let (mut cells, mut used) = (Vec::new(), 0);
    // Combining marks have no width, so a line could have any number of them.
    let most = columns.saturating_mul(3) + 16;
    for (part, text) in parts.into_iter().enumerate() {
        for c in text.chars() {
            let (c, width) =
                if c == '\t' { (' ', TAB_COLUMNS - used % TAB_COLUMNS) } else { (c, c.width().unwrap_or(0)) };
            if used + width > columns || cells.len() >= most {
                return (cells, true);
            }
            used += width;
            let first = TextCell { c, part, width: if c == ' ' { 1 } else { width } };
            cells.extend(std::iter::repeat_n(first, if c == ' ' { width } else { 1 }));
        }
    }
    (cells, false)
}

const TAB_COLUMNS: usize = 4;

/// Cuts cells to a width and marks the cut with an ellipsis.
pub fn cut_cells(mut cells: Vec<TextCell>, more: bool, columns: usize) -> Vec<TextCell> {
    if more {
        let mut used: usize = cells.iter().map(|cell| cell.width).sum();
        while used + 1 > columns.max(1)
            && let Some(last) = cells.pop()
        {
            used -= last.width;
        }
        let part = cells.last().map_or(0, |cell| cell.part);
        cells.push(TextCell { c: '…', part, width: 1 });
    }
    cells
}

/// Wraps cells into rows, between words if possible.
pub fn wrap_cells(cells: &[TextCell], columns: usize) -> Vec<&[TextCell]> {
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

/// Returns where to break a row: after the last space, unless that is too far back.
fn word_end(cells: &[TextCell], fits: usize) -> usize {
    let row = cells.get(..fits).unwrap_or(cells);
    let space = row.iter().rposition(|cell| cell.c == ' ').map(|at| at + 1);
    space.filter(|at| *at > fits / 2).unwrap_or(fits)
}

/// Replaces the home directory of a path by `~`.
pub fn abbreviate_home(path: &str, home: Option<&str>) -> String {
    let inside = home.and_then(|home| path.strip_prefix(home)).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    inside.map_or_else(|| path.to_owned(), |rest| format!("~{rest}"))
}

/// Returns the end of a text that is longer than a number of columns.
pub fn keep_end(text: String, columns: usize) -> String {
    if text.width() <= columns {
        return text;
    }
    let mut ends = text.char_indices().filter_map(|(at, _)| text.get(at..));
    format!("…{}", ends.find(|end| end.width() < columns).unwrap_or_default())
}

/// Cuts a text to a number of columns: paths keep their end, other texts their beginning.
pub fn clip_text(text: &str, columns: usize) -> String {
    if text.starts_with(['/', '~']) { keep_end(text.to_owned(), columns) } else { clip_line(text, columns) }
}

/// Cuts a line to a width.
pub fn clip_line(text: &str, columns: usize) -> String {
    let (cells, more) = fit_cells([text], columns);
    cut_cells(cells, more, columns).into_iter().map(|cell| cell.c).collect()
}

#[cfg(test)]
mod tests {

    use super::{
        TextCell, abbreviate_home, clip_line, clip_text, cut_cells, fit_cells, fold_lines, keep_end, wrap_cells,
    };

    fn shorten(path: &str, home: Option<&str>) -> String {
        keep_end(abbreviate_home(path, home), 28)
    }

    #[test]
    fn a_cut_is_marked_and_counts_columns() {
        assert_eq!(clip_line("short", 5), "short");
        assert_eq!(clip_line("too long", 5), "too …");
        assert_eq!(clip_line("日本語です", 5), "日本…");
    }

    #[test]
    fn the_end_of_a_path_is_kept() {
        assert_eq!(clip_text("~/code/project", 10), "…e/project");
        assert_eq!(clip_text("a-model-of-2026", 10), "a-model-o…");
        assert_eq!(clip_text("/a", 10), "/a");
    }

    #[test]
    fn directories_are_short() {
        let home = Some("/home/me");
        assert_eq!(shorten("/home/me", home), "~");
        assert_eq!(shorten("/home/me/project", home), "~/project");
        assert_eq!(shorten("/home/mean", home), "/home/mean");
        assert_eq!(shorten("/a/very/long/path/to/some/project", home), "…y/long/path/to/some/project");
    }

    fn text(cells: &[TextCell]) -> String {
        cells.iter().map(|cell| cell.c).collect()
    }

    #[test]
    fn folding_keeps_both_ends() {
        let lines = (1..=9).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let folded = fold_lines(&lines, 3, 2);
        assert_eq!((folded.head, folded.more, folded.tail), (vec!["1", "2", "3"], 4, vec!["8", "9"]));
        assert_eq!(fold_lines(&lines, 4, 3).more, 0, "two lines are not worth a fold");
        assert!(fold_lines("\n\n", 1, 1).head.is_empty());
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
            let (all, more) = fit_cells([given], columns);
            assert_eq!(text(&cut_cells(all, more, columns)), shown, "{given}");
        }
    }

    #[test]
    fn rows_break_between_words() {
        let (all, _) = fit_cells(["the quick brown fox averyveryverylongword"], 100);
        let rows: Vec<String> = wrap_cells(&all, 12).into_iter().map(text).collect();
        assert_eq!(rows, ["the quick ", "brown fox ", "averyveryver", "ylongword"]);
    }

    #[test]
    fn marks_without_a_width_do_not_pile_up_for_ever() {
        let (all, more) = fit_cells([&*format!("a{}", "\u{301}".repeat(1 << 20))], 80);
        assert!(more && all.len() < 300);
    }
}
