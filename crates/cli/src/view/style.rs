//! Styled text: the few colors and weights in use, and lines of several styles, cut to a width or wrapped between words. The
//! colors are of the basic sixteen, legible on dark and on light.

use anstyle::{AnsiColor, Style};

use super::fold::{TextCell, UNLIMITED, cut_cells, fit_cells, wrap_cells};

pub const PLAIN: Style = Style::new();

/// Secondary information.
pub const DIM: Style = Style::new().dimmed();

/// What readers look for.
pub const BOLD: Style = Style::new().bold();

/// Failures and removed lines.
pub const RED: Style = AnsiColor::Red.on_default();

/// Success and added lines.
pub const GREEN: Style = AnsiColor::Green.on_default();

/// Warnings.
pub const YELLOW: Style = AnsiColor::Yellow.on_default();

/// Marks.
pub const CYAN: Style = AnsiColor::Cyan.on_default();

pub type StyledText = (Style, String);

/// Renders texts at full width.
pub fn render_texts(pieces: &[StyledText], color: bool) -> String {
    pieces.iter().map(|(style, text)| paint(color, *style, text)).collect()
}

/// Renders texts cut to a number of columns; a cut is marked.
pub fn clip_texts(pieces: &[StyledText], columns: usize, color: bool) -> String {
    let (cells, more) = fit_cells(plain_texts(pieces), columns);
    render_cells(&cut_cells(cells, more, columns), pieces, color)
}

/// Renders texts wrapped into rows of at most `columns`, all but the first indented; without a limit, in one row.
pub fn wrap_texts(pieces: &[StyledText], columns: Option<usize>, indent: usize, color: bool) -> String {
    let Some(columns) = columns else { return render_texts(pieces, color) };
    let (cells, _) = fit_cells(plain_texts(pieces), UNLIMITED);
    let rows = wrap_cells(&cells, columns.saturating_sub(indent).max(1));
    let rows: Vec<String> = rows.into_iter().map(|row| render_cells(row, pieces, color)).collect();
    rows.join(&format!("\n{}", " ".repeat(indent)))
}

fn plain_texts(pieces: &[StyledText]) -> impl Iterator<Item = &str> {
    pieces.iter().map(|(_, text)| text.as_str())
}

fn render_cells(cells: &[TextCell], pieces: &[StyledText], color: bool) -> String {
    let end = cells.iter().rposition(|cell| cell.c != ' ').map_or(0, |at| at + 1);
    let style = |cell: &TextCell| pieces.get(cell.part).map_or(PLAIN, |piece| piece.0);
    let runs = cells.get(..end).unwrap_or(cells).chunk_by(|a, b| style(a) == style(b));
    let text = |run: &[TextCell]| run.iter().map(|cell| cell.c).collect::<String>();
    runs.map(|run| paint(color, run.first().map_or(PLAIN, style), &text(run))).collect()
}

pub fn paint(color: bool, style: Style, text: &str) -> String {
    if color && style != PLAIN { format!("{}{text}{}", style.render(), style.render_reset()) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {

    use super::{BOLD, PLAIN, clip_texts, wrap_texts};

    #[test]
    fn pieces_are_one_line() {
        let pieces = [(BOLD, "two words".to_owned()), (PLAIN, " and more".to_owned())];
        for (columns, shown) in [(30, "two words and more"), (12, "two words a…"), (5, "two …"), (1, "…")] {
            assert_eq!(clip_texts(&pieces, columns, false), shown);
        }
        assert_eq!(clip_texts(&pieces, 13, true), "\x1b[1mtwo words\x1b[0m an…");
        assert_eq!(wrap_texts(&pieces, None, 2, false), "two words and more");
        assert_eq!(wrap_texts(&pieces, Some(12), 2, false), "two words\n  and more");
    }
}
