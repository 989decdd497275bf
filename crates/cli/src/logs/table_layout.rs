//! Tables that fit the terminal: directories are shortened first, then the least important columns are dropped, and the
//! last column gets the rest. In a pipe, nothing is cut.

use unicode_width::UnicodeWidthStr as _;

use crate::view::{
    fold::clip_text,
    paint,
    style::{DIM, StyledText, clip_texts, render_texts},
};

const COLUMN_GAP: usize = 2;

const MIN_FIRST_COLUMN: usize = 8;

/// A column other than the last.
#[derive(Clone, Copy)]
pub struct TableColumn {
    pub title: &'static str,
    /// The minimum and maximum width, if the column can be cut.
    pub cut: Option<(usize, usize)>,
    /// The step at which the column is dropped if there is not enough room.
    pub drop_step: usize,
}

pub const NEVER_DROPPED: usize = usize::MAX;

pub struct LastColumn {
    pub title: &'static str,
    /// Columns are dropped until it has this width.
    pub min_width: usize,
    /// Columns are cut until it has this width.
    pub preferred_width: usize,
}

pub struct TableRow {
    pub cells: Vec<StyledText>,
    pub last: Vec<StyledText>,
    /// The end of the last column, which is always visible.
    pub end: StyledText,
}

/// Returns the lines of a table. Without a maximum width, nothing is cut.
pub fn layout_table(
    columns: &[TableColumn],
    last: &LastColumn,
    mut rows: Vec<TableRow>,
    room: Option<usize>,
    color: bool,
) -> Vec<String> {
    let titles = columns.iter().map(|column| (DIM, column.title.to_owned())).collect();
    let title = vec![(DIM, last.title.to_owned())];
    rows.insert(0, TableRow { cells: titles, last: title, end: StyledText::default() });
    let natural = natural_widths(columns.len(), &rows);
    let widths = room.map_or_else(|| natural.clone(), |room| fit_columns(columns, last, &natural, room));
    let left = room.map(|room| room.saturating_sub(total_width(&widths)));
    rows.iter().map(|row| render_row(row, &widths, left, color)).collect()
}

fn natural_widths(columns: usize, rows: &[TableRow]) -> Vec<usize> {
    let width = |column: usize| rows.iter().filter_map(|row| Some(row.cells.get(column)?.1.width())).max();
    (0..columns).map(|column| width(column).unwrap_or_default()).collect()
}

/// Returns the widths that fit; columns of width 0 are left out.
fn fit_columns(columns: &[TableColumn], last: &LastColumn, natural: &[usize], room: usize) -> Vec<usize> {
    let steps =
        columns.iter().map(|column| column.drop_step).filter(|step| *step != NEVER_DROPPED).max().unwrap_or_default();
    let tried =
        (0..=steps).map(|step| narrow_columns(columns, natural, step, room.saturating_sub(last.preferred_width)));
    let mut widths = Vec::new();
    for tried in tried {
        widths = tried;
        if total_width(&widths) + last.min_width <= room {
            return widths;
        }
    }
    if let Some(first) = widths.first_mut() {
        *first = MIN_FIRST_COLUMN.max(room.saturating_sub(last.min_width + COLUMN_GAP)).min(*first);
    }
    widths
}

/// Returns the widths at a step, cut as far as necessary and possible.
fn narrow_columns(columns: &[TableColumn], natural: &[usize], step: usize, room: usize) -> Vec<usize> {
    let width = |(column, width): (&TableColumn, &usize)| match column.cut {
        _ if step >= column.drop_step => 0,
        Some((_, most)) => most.min(*width),
        None => *width,
    };
    let mut widths: Vec<usize> = columns.iter().zip(natural).map(width).collect();
    // Directories come after names, and are cut before them.
    for (at, column) in columns.iter().enumerate().rev() {
        let over = total_width(&widths).saturating_sub(room);
        if let (Some((least, _)), Some(width)) = (column.cut, widths.get_mut(at)) {
            *width = width.saturating_sub(over).max(least.min(*width));
        }
    }
    widths
}

fn total_width(widths: &[usize]) -> usize {
    widths.iter().filter(|width| **width > 0).map(|width| width + COLUMN_GAP).sum()
}

fn render_row(row: &TableRow, widths: &[usize], left: Option<usize>, color: bool) -> String {
    let mut text = String::new();
    for ((style, cell), width) in row.cells.iter().zip(widths).filter(|(_, width)| **width > 0) {
        let cell = if cell.width() > *width { clip_text(cell, *width) } else { cell.replace('\t', " ") };
        text.push_str(&paint(color, *style, &cell));
        text.push_str(&" ".repeat(width.saturating_sub(cell.width()) + COLUMN_GAP));
    }
    text.push_str(&render_last_column(row, left, color));
    text.trim_end().to_owned()
}

/// Renders the last column. Its end is kept unless nothing else would fit.
fn render_last_column(row: &TableRow, left: Option<usize>, color: bool) -> String {
    let end = std::slice::from_ref(&row.end);
    let Some(left) = left else { return render_texts(&row.last, color) + &render_texts(end, color) };
    match left.checked_sub(row.end.1.width()) {
        Some(room) if room > 1 => clip_texts(&row.last, room, color) + &render_texts(end, color),
        _ if left > 0 => clip_texts(&row.last, left, color),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {

    use unicode_width::UnicodeWidthStr as _;

    use super::{LastColumn, NEVER_DROPPED, TableColumn, TableRow, layout_table};
    use crate::view::style::PLAIN;

    const COLUMNS: &[TableColumn] = &[
        TableColumn { title: "ID", cut: None, drop_step: NEVER_DROPPED },
        TableColumn { title: "AGE", cut: None, drop_step: 1 },
        TableColumn { title: "DIRECTORY", cut: Some((9, 20)), drop_step: 2 },
    ];

    fn table(id: &str, room: Option<usize>) -> Vec<String> {
        let cells = [id, "12 min", "/srv/a/long/folder/of/workshop"].map(|text| (PLAIN, text.to_owned())).to_vec();
        let row = TableRow {
            cells,
            last: vec![(PLAIN, "waiting for a prompt".to_owned())],
            end: (PLAIN, " · 3 s".to_owned()),
        };
        layout_table(COLUMNS, &LastColumn { title: "NOW", min_width: 16, preferred_width: 26 }, vec![row], room, false)
    }

    #[test]
    fn what_is_least_goes_first() {
        for (room, shown) in [
            (None, "01a1e1f4  12 min  /srv/a/long/folder/of/workshop  waiting for a prompt · 3 s"),
            (Some(70), "01a1e1f4  12 min  …/folder/of/workshop  waiting for a prompt · 3 s"),
            (Some(60), "01a1e1f4  12 min  …r/of/workshop  waiting for a prompt · 3 s"),
            (Some(50), "01a1e1f4  12 min  …workshop  waiting for a … · 3 s"),
            (Some(40), "01a1e1f4  …workshop  waiting for … · 3 s"),
            (Some(30), "01a1e1f4  waiting for a… · 3 s"),
            (Some(12), "01a1e1f4  w…"),
        ] {
            assert_eq!(table("01a1e1f4", room)[1], shown, "{room:?}");
        }
    }

    #[test]
    fn nothing_is_wider_than_the_room() {
        for (id, room) in ["01a1e1f4", "an id that is longer than any screen is wide"].iter().zip([12, 30]) {
            for room in room..120 {
                assert!(table(id, Some(room)).iter().all(|line| line.width() <= room), "{id} in {room}");
            }
        }
    }
}
