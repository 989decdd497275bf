//! The table of sessions for people. In a pipe only very long tasks are cut.

use anstyle::Style;
use switchboard_store::SessionRecord;
use unicode_width::UnicodeWidthStr as _;

use super::row::{Row, clip};
use crate::{
    host,
    short_ids::ShortIds,
    terminal::Terminal,
    view::{
        paint,
        style::{BOLD, DIM, PLAIN},
    },
};

/// No column but the last is wider.
const WIDEST: usize = 28;

/// The last column has at least so much room, and in a pipe so much.
const TASK: (usize, usize) = (16, 200);

/// A table of sessions, a line each.
pub fn table(sessions: &[SessionRecord], short_ids: &ShortIds, terminal: &Terminal) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let (now, home) = (host::now(), host::home());
    let rows: Vec<Row> = sessions.iter().map(|session| Row::of(session, now)).collect();
    let ids = sessions.iter().map(|session| short_ids.shorten_own(&session.id));
    let has_projects = rows.iter().any(|row| !row.project.is_empty());
    let mut lines = vec![titles(has_projects)];
    lines.extend(ids.zip(&rows).map(|(id, row)| cells(id, row, has_projects, home.as_deref())));
    let widths = widths(&lines);
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let room = match terminal.stdout {
        true => usize::from(terminal.width()).saturating_sub(used + 1).max(TASK.0),
        false => TASK.1,
    };
    let tasks = std::iter::once((DIM, "TASK".to_owned())).chain(rows.iter().map(|row| (PLAIN, row.task(room))));
    let colour = terminal.stdout && terminal.colour;
    lines.iter().zip(tasks).map(|(line, task)| draw(line, &widths, &task, colour)).collect()
}

/// A text and how it is painted.
type Cell = (Style, String);

fn titles(has_projects: bool) -> Vec<Cell> {
    let project = if has_projects { &["PROJECT"][..] } else { &[] };
    let names = [&["ID", "AGENT", "STATE", "AGE", "TURNS"], project, &["FOLDER"]].concat();
    names.into_iter().map(|name| (DIM, name.to_owned())).collect()
}

fn cells(id: String, row: &Row, has_projects: bool, home: Option<&str>) -> Vec<Cell> {
    let mut cells = vec![
        (BOLD, id),
        (PLAIN, clip(&row.agent, WIDEST)),
        (row.state.style(), row.state.word().to_owned()),
        (DIM, row.age.clone()),
        (DIM, row.turns.clone()),
    ];
    if has_projects {
        cells.push((PLAIN, clip(&row.project, WIDEST)));
    }
    cells.push((DIM, folder(&row.cwd, home)));
    cells
}

fn widths(lines: &[Vec<Cell>]) -> Vec<usize> {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().filter_map(|line| Some(line.get(column)?.1.width())).max();
    (0..columns).map(|column| width(column).unwrap_or_default()).collect()
}

fn draw(cells: &[Cell], widths: &[usize], (style, task): &Cell, colour: bool) -> String {
    let mut text = String::new();
    for ((style, cell), width) in cells.iter().zip(widths) {
        text.push_str(&paint(colour, *style, cell));
        text.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
    }
    text.push_str(&paint(colour, *style, task));
    format!("{}\n", text.trim_end())
}

/// A folder as people write it; of a long one, its end.
pub fn folder(path: &str, home: Option<&str>) -> String {
    end(tilde(path, home), WIDEST)
}

/// A path as people write it.
pub fn tilde(path: &str, home: Option<&str>) -> String {
    let inside = home.and_then(|home| path.strip_prefix(home)).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    inside.map_or_else(|| path.to_owned(), |rest| format!("~{rest}"))
}

/// Returns the end of a text that is longer than a number of columns.
pub fn end(text: String, columns: usize) -> String {
    if text.width() <= columns {
        return text;
    }
    let mut ends = text.char_indices().filter_map(|(at, _)| text.get(at..));
    format!("…{}", ends.find(|end| end.width() < columns).unwrap_or_default())
}

/// Cuts a text to a number of columns: paths keep their end, other texts their beginning.
pub fn cut(text: &str, columns: usize) -> String {
    if text.starts_with(['/', '~']) { end(text.to_owned(), columns) } else { clip(text, columns) }
}

#[cfg(test)]
mod tests {
    use super::{cut, folder};

    #[test]
    fn of_a_folder_the_end_says_more() {
        assert_eq!(cut("~/code/project", 10), "…e/project");
        assert_eq!(cut("a-model-of-2026", 10), "a-model-o…");
        assert_eq!(cut("/a", 10), "/a");
    }

    #[test]
    fn folders_are_short() {
        let home = Some("/home/me");
        assert_eq!(folder("/home/me", home), "~");
        assert_eq!(folder("/home/me/project", home), "~/project");
        assert_eq!(folder("/home/mean", home), "/home/mean");
        assert_eq!(folder("/a/very/long/path/to/some/project", home), "…y/long/path/to/some/project");
    }
}
