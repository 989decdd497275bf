//! A table with a line for each row, made to fit a terminal: folders give way first, then the least of the columns go,
//! and the last column has what is left. In a pipe everything is as wide as it is.

use unicode_width::UnicodeWidthStr as _;

use crate::{
    sessions::cut,
    view::{
        paint,
        pieces::{self, Piece},
        style::DIM,
    },
};

/// What is between two columns.
const GAP: usize = 2;

/// What is always there of the first column.
const LEAST: usize = 8;

/// A column that is not the last.
#[derive(Clone, Copy)]
pub struct Column {
    /// What stands above it.
    pub title: &'static str,
    /// How narrow it can be made, and how wide it is at most, if it can be cut.
    pub cut: Option<(usize, usize)>,
    /// The step at which it goes where there is not enough room.
    pub goes: usize,
}

/// It never goes.
pub const STAYS: usize = usize::MAX;

/// The last column.
pub struct Last {
    /// What stands above it.
    pub title: &'static str,
    /// Columns go until it has so much room.
    pub least: usize,
    /// Columns are cut until it has so much room.
    pub wanted: usize,
}

/// A row: a cell for each column, and the last column in pieces.
pub struct Row {
    /// A cell for each column.
    pub cells: Vec<Piece>,
    /// The last column.
    pub last: Vec<Piece>,
    /// The end of the last column, which is always seen.
    pub end: Piece,
}

/// The lines of a table. Without a room, nothing is cut.
pub fn lines(columns: &[Column], last: &Last, mut rows: Vec<Row>, room: Option<usize>, colour: bool) -> Vec<String> {
    let titles = columns.iter().map(|column| (DIM, column.title.to_owned())).collect();
    let title = vec![(DIM, last.title.to_owned())];
    rows.insert(0, Row { cells: titles, last: title, end: Piece::default() });
    let natural = widths(columns.len(), &rows);
    let widths = room.map_or_else(|| natural.clone(), |room| fit(columns, last, &natural, room));
    let left = room.map(|room| room.saturating_sub(used(&widths)));
    rows.iter().map(|row| line(row, &widths, left, colour)).collect()
}

/// How wide columns are if nothing is cut.
fn widths(columns: usize, rows: &[Row]) -> Vec<usize> {
    let width = |column: usize| rows.iter().filter_map(|row| Some(row.cells.get(column)?.1.width())).max();
    (0..columns).map(|column| width(column).unwrap_or_default()).collect()
}

/// How wide they are made. What has no width is left out.
fn fit(columns: &[Column], last: &Last, natural: &[usize], room: usize) -> Vec<usize> {
    let steps = columns.iter().map(|column| column.goes).filter(|goes| *goes != STAYS).max().unwrap_or_default();
    let tried = (0..=steps).map(|step| narrow(columns, natural, step, room.saturating_sub(last.wanted)));
    let mut widths = Vec::new();
    for tried in tried {
        widths = tried;
        if used(&widths) + last.least <= room {
            return widths;
        }
    }
    if let Some(first) = widths.first_mut() {
        *first = LEAST.max(room.saturating_sub(last.least + GAP)).min(*first);
    }
    widths
}

/// The columns that are left at a step, cut until they fit or can be cut no more.
fn narrow(columns: &[Column], natural: &[usize], step: usize, room: usize) -> Vec<usize> {
    let width = |(column, width): (&Column, &usize)| match column.cut {
        _ if step >= column.goes => 0,
        Some((_, most)) => most.min(*width),
        None => *width,
    };
    let mut widths: Vec<usize> = columns.iter().zip(natural).map(width).collect();
    // Folders stand behind names, and give way before them.
    for (at, column) in columns.iter().enumerate().rev() {
        let over = used(&widths).saturating_sub(room);
        if let (Some((least, _)), Some(width)) = (column.cut, widths.get_mut(at)) {
            *width = width.saturating_sub(over).max(least.min(*width));
        }
    }
    widths
}

fn used(widths: &[usize]) -> usize {
    widths.iter().filter(|width| **width > 0).map(|width| width + GAP).sum()
}

fn line(row: &Row, widths: &[usize], left: Option<usize>, colour: bool) -> String {
    let mut text = String::new();
    for ((style, cell), width) in row.cells.iter().zip(widths).filter(|(_, width)| **width > 0) {
        let cell = if cell.width() > *width { cut(cell, *width) } else { cell.replace('\t', " ") };
        text.push_str(&paint(colour, *style, &cell));
        text.push_str(&" ".repeat(width.saturating_sub(cell.width()) + GAP));
    }
    text.push_str(&ending(row, left, colour));
    text.trim_end().to_owned()
}

/// The last column: its end is seen, unless there is room for nothing else.
fn ending(row: &Row, left: Option<usize>, colour: bool) -> String {
    let end = std::slice::from_ref(&row.end);
    let Some(left) = left else { return pieces::whole(&row.last, colour) + &pieces::whole(end, colour) };
    match left.checked_sub(row.end.1.width()) {
        Some(room) if room > 1 => pieces::clipped(&row.last, room, colour) + &pieces::whole(end, colour),
        _ if left > 0 => pieces::clipped(&row.last, left, colour),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::{Column, Last, Row, STAYS, lines};
    use crate::view::style::PLAIN;

    const COLUMNS: &[Column] = &[
        Column { title: "ID", cut: None, goes: STAYS },
        Column { title: "AGE", cut: None, goes: 1 },
        Column { title: "FOLDER", cut: Some((8, 20)), goes: 2 },
    ];

    fn table(id: &str, room: Option<usize>) -> Vec<String> {
        let cells = [id, "12 min", "/srv/a/long/folder/of/somebody"].map(|text| (PLAIN, text.to_owned())).to_vec();
        let row =
            Row { cells, last: vec![(PLAIN, "waiting for a prompt".to_owned())], end: (PLAIN, " · 3 s".to_owned()) };
        lines(COLUMNS, &Last { title: "NOW", least: 16, wanted: 26 }, vec![row], room, false)
    }

    #[test]
    fn what_is_least_goes_first() {
        for (room, shown) in [
            (None, "01a1e1f4  12 min  /srv/a/long/folder/of/somebody  waiting for a prompt · 3 s"),
            (Some(70), "01a1e1f4  12 min  …/folder/of/somebody  waiting for a prompt · 3 s"),
            (Some(60), "01a1e1f4  12 min  …r/of/somebody  waiting for a prompt · 3 s"),
            (Some(50), "01a1e1f4  12 min  …omebody  waiting for a p… · 3 s"),
            (Some(40), "01a1e1f4  …omebody  waiting for a… · 3 s"),
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
