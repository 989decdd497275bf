//! Changes of a file, as rows with the numbers of both sides.

mod compare;
mod rows;
mod table;
mod unified;
mod words;

use super::Shown;
use rows::Rows;

/// How a change is known.
#[derive(Clone, Copy, Debug)]
pub enum Edit<'a> {
    /// A unified diff; a header of file names is not needed.
    Unified(&'a str),
    /// The file before and after.
    Sides(&'a str, &'a str),
}

/// How many lines a change adds and takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
}

/// The rows of a change, and how many lines it adds and takes away. Two tables, of which the page shows one: both sides
/// next to each other (`diff-side`), or one below the other (`diff-inline`). A change that only adds or only takes away
/// has one table, which is both.
#[must_use]
pub fn diff(edit: Edit<'_>, path: &str) -> (Shown, Tally) {
    let rows = rows(edit);
    (table::show(&rows, path), rows.tally)
}

fn rows(edit: Edit<'_>) -> Rows<'_> {
    match edit {
        Edit::Unified(text) => unified::read(text),
        Edit::Sides(before, after) => compare::compare(before, after),
    }
}
