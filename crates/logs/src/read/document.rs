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
    split: impl Fn(&str) -> Vec<String>,
    from: u64,
    each: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<u64> {
    let text = text_of(path)?;
    let text = bare(&text);
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

/// The sessions of a document that several share, in their order; each with a text that changes when it grows.
///
/// # Errors
/// If the file cannot be read.
pub fn shared_sessions(path: &Path, split: fn(&str) -> Vec<(String, String)>) -> io::Result<Vec<(String, String)>> {
    let text = text_of(path)?;
    let mut sizes: Vec<(String, (usize, usize))> = Vec::new();
    for (session, record) in split(bare(&text)) {
        match sizes.iter_mut().find(|(known, _)| *known == session) {
            Some((_, (records, bytes))) => (*records, *bytes) = (*records + 1, *bytes + record.len()),
            None => sizes.push((session, (1, record.len()))),
        }
    }
    Ok(sizes.into_iter().map(|(session, (records, bytes))| (session, format!("{records}.{bytes}"))).collect())
}

fn text_of(path: &Path) -> io::Result<String> {
    let bytes = file::whole(path)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Without what editors and crashes leave around a document.
fn bare(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim_matches(|c: char| c == '\0' || c.is_ascii_whitespace())
}
