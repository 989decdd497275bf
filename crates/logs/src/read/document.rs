//! A JSON document whose parts are the records.

use std::{io, path::Path};

use serde::de::IgnoredAny;

use super::{file, on_one_line};

/// Gives the parts from a number on.
///
/// # Errors
/// If the file cannot be read, or it is no JSON document to its end. The parts that could be read were given.
pub fn read(
    path: &Path,
    split: fn(&str) -> Vec<String>,
    from: u64,
    each: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<u64> {
    let text = String::from_utf8(file::whole(path)?)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let text = text.trim_start_matches('\u{feff}').trim_matches(|c: char| c == '\0' || c.is_ascii_whitespace());
    let (mut end, mut number) = (from, 0);
    for part in split(text) {
        if number >= from {
            each(number, on_one_line(part.as_bytes()).as_ref());
            end = number + 1;
        }
        number += 1;
    }
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(end)
}
