//! Choosing a dialect by its name.

use switchboard_dialects::{DIALECTS, Dialect, find_dialect};

use crate::failure::{Failure, names};

/// The dialect of that name.
pub fn find(name: &str) -> Result<&'static Dialect, Failure> {
    find_dialect(name).ok_or_else(|| Failure::UnknownName {
        what: "dialect",
        given: name.to_owned(),
        known: names(DIALECTS.iter().map(|d| (d.name, d.title))),
    })
}

/// The dialect that was chosen: one by name, or the first of the table for `--json`.
pub fn chosen(json: bool, name: Option<&str>) -> Result<Option<&'static Dialect>, Failure> {
    match name {
        Some(name) => find(name).map(Some),
        None if json => Ok(DIALECTS.first()),
        None => Ok(None),
    }
}
