//! Renders changes of a file as rows with the line numbers of both sides.

mod compare;
mod rows;
mod table;
mod unified;
mod words;

use super::HtmlFragment;
use rows::DiffRows;

/// The source of a diff.
#[derive(Clone, Copy, Debug)]
pub enum DiffSource<'a> {
    /// A unified diff; a header with file names is optional.
    Unified(&'a str),
    /// The file before and after.
    Sides(&'a str, &'a str),
}

/// The number of added and removed lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffStat {
    pub added: usize,
    pub removed: usize,
}

/// Renders a change and counts its added and removed lines. The result has two tables, of which the page shows one:
/// both sides next to each other (`diff-side`), or one below the other (`diff-inline`). A change that only adds or only
/// removes lines has one table with both classes.
#[must_use]
pub fn diff(edit: DiffSource<'_>, path: &str) -> (HtmlFragment, DiffStat) {
    let rows = rows(edit);
    (table::show(&rows, path), rows.tally)
}

fn rows(edit: DiffSource<'_>) -> DiffRows<'_> {
    match edit {
        DiffSource::Unified(text) => unified::read(text),
        DiffSource::Sides(before, after) => compare::compare(before, after),
    }
}
