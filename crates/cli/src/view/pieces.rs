//! A line of pieces in several styles: cut to a width, or broken between words.

use anstyle::Style;

use super::{
    fold::{self, Cell},
    paper::paint,
    style::PLAIN,
};

/// A text and how it is painted.
pub type Piece = (Style, String);

/// All of it, in as many columns as it takes.
pub fn whole(pieces: &[Piece], colour: bool) -> String {
    pieces.iter().map(|(style, text)| paint(colour, *style, text)).collect()
}

/// Cuts pieces to a number of columns; a cut is marked.
pub fn clipped(pieces: &[Piece], columns: usize, colour: bool) -> String {
    let (cells, more) = fold::cells(texts(pieces), columns);
    painted(&fold::cut(cells, more, columns), pieces, colour)
}

/// Wraps pieces into rows of at most `columns`, all but the first indented; without a limit, one row.
pub fn wrapped(pieces: &[Piece], columns: Option<usize>, indent: usize, colour: bool) -> String {
    let Some(columns) = columns else { return whole(pieces, colour) };
    let (cells, _) = fold::cells(texts(pieces), fold::WHOLE);
    let rows = fold::wrap(&cells, columns.saturating_sub(indent).max(1));
    let rows: Vec<String> = rows.into_iter().map(|row| painted(row, pieces, colour)).collect();
    rows.join(&format!("\n{}", " ".repeat(indent)))
}

fn texts(pieces: &[Piece]) -> impl Iterator<Item = &str> {
    pieces.iter().map(|(_, text)| text.as_str())
}

fn painted(cells: &[Cell], pieces: &[Piece], colour: bool) -> String {
    let end = cells.iter().rposition(|cell| cell.c != ' ').map_or(0, |at| at + 1);
    let style = |cell: &Cell| pieces.get(cell.part).map_or(PLAIN, |piece| piece.0);
    let runs = cells.get(..end).unwrap_or(cells).chunk_by(|a, b| style(a) == style(b));
    let text = |run: &[Cell]| run.iter().map(|cell| cell.c).collect::<String>();
    runs.map(|run| paint(colour, run.first().map_or(PLAIN, style), &text(run))).collect()
}

#[cfg(test)]
mod tests {
    use super::{clipped, wrapped};
    use crate::view::style::{BOLD, PLAIN};

    #[test]
    fn pieces_are_one_line() {
        let pieces = [(BOLD, "two words".to_owned()), (PLAIN, " and more".to_owned())];
        for (columns, shown) in [(30, "two words and more"), (12, "two words a…"), (5, "two …"), (1, "…")] {
            assert_eq!(clipped(&pieces, columns, false), shown);
        }
        assert_eq!(clipped(&pieces, 13, true), "\x1b[1mtwo words\x1b[0m an…");
        assert_eq!(wrapped(&pieces, None, 2, false), "two words and more");
        assert_eq!(wrapped(&pieces, Some(12), 2, false), "two words\n  and more");
    }
}
