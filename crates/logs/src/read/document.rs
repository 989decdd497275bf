//! JSON documents whose parts are the records.

use std::{io, path::Path};

use serde::de::IgnoredAny;

use super::{file, to_one_line};

/// Reads the parts from a number on.
///
/// # Errors
/// If the file cannot be read, or is not a complete JSON document. Readable parts were passed to `each`.
pub fn read_document(
    path: &Path,
    split: impl Fn(&str) -> Vec<String>,
    from: u64,
    each: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<u64> {
    let text = read_text(path)?;
    let text = trim_document(&text);
    let (mut end, mut number) = (from, 0);
    for part in split(text) {
        if number >= from {
            each(number, to_one_line(part.as_bytes()).as_ref());
            end = number + 1;
        }
        number += 1;
    }
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(end)
}

/// Returns the sessions of a shared document, in order, each with a version string that changes when it grows.
///
/// # Errors
/// If the file cannot be read.
pub fn list_shared_sessions(
    path: &Path,
    split: fn(&str) -> Vec<(String, String)>,
) -> io::Result<Vec<(String, String)>> {
    let text = read_text(path)?;
    let mut sizes: Vec<(String, (usize, usize))> = Vec::new();
    for (session, record) in split(trim_document(&text)) {
        match sizes.iter_mut().find(|(known, _)| *known == session) {
            Some((_, (records, bytes))) => (*records, *bytes) = (*records + 1, *bytes + record.len()),
            None => sizes.push((session, (1, record.len()))),
        }
    }
    Ok(sizes.into_iter().map(|(session, (records, bytes))| (session, format!("{records}.{bytes}"))).collect())
}

fn read_text(path: &Path) -> io::Result<String> {
    let bytes = file::read_whole_file(path)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Strips what editors and crashes leave around a document.
fn trim_document(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim_matches(|c: char| c == '\0' || c.is_ascii_whitespace())
}
