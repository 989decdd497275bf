//! JSON documents whose parts are the records.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

use serde::de::IgnoredAny;
use switchboard_agents::{HostAccess, RecordFile};

use super::{
    file::{self, DiskOnlyHost},
    to_one_line,
};

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

/// Reads the records from a number on. A file that was deleted meanwhile is not a record.
///
/// # Errors
/// If a file cannot be read. All others were passed to `each`.
pub fn read_tree(
    path: &Path,
    pieces: fn(&dyn HostAccess, &Path) -> Vec<RecordFile>,
    from: u64,
    each: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<u64> {
    fs::metadata(path)?;
    let (mut number, mut broken) = (0, None);
    for piece in pieces(&DiskOnlyHost, path) {
        match file::read_whole_file(&piece.path) {
            Ok(bytes) if number >= from => each(number, &tree_record(piece.table, &bytes)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => broken = Some(with_path(&piece.path, &error)),
        }
        number += 1;
    }
    broken.map_or(Ok(number.max(from)), Err)
}

/// Returns a value that changes with any of the files.
///
/// # Errors
/// If the session's main file does not exist.
pub fn compute_tree_mark(path: &Path, pieces: fn(&dyn HostAccess, &Path) -> Vec<RecordFile>) -> io::Result<String> {
    fs::metadata(path)?;
    let (mut count, mut bytes, mut last) = (0_u64, 0_u64, (0, 0));
    for meta in pieces(&DiskOnlyHost, path).iter().filter_map(|piece| fs::metadata(&piece.path).ok()) {
        (count, bytes) = (count + 1, bytes + meta.size());
        last = last.max((meta.mtime(), meta.mtime_nsec()));
    }
    Ok(format!("{count}.{bytes}.{}.{}", last.0, last.1))
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Wraps the content of a file with its table name. Invalid JSON makes an invalid record.
fn tree_record(table: &str, bytes: &[u8]) -> Vec<u8> {
    let mut record = format!(r#"{{"table":"{table}","row":"#).into_bytes();
    record.extend_from_slice(&to_one_line(trim_json(bytes)));
    record.push(b'}');
    record
}

/// Strips a byte order mark, and trailing zeros of an incomplete write.
fn trim_json(bytes: &[u8]) -> &[u8] {
    let mut bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    while let [rest @ .., 0] = bytes {
        bytes = rest;
    }
    bytes.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::tree_record;

    #[test]
    fn what_is_around_the_json_of_a_file_is_left_out() {
        for file in ["{\"a\":1}", " {\"a\":1}\n", "\u{feff}{\"a\":1}", "{\"a\":1}\n\0\0\0"] {
            assert_eq!(tree_record("t", file.as_bytes()), br#"{"table":"t","row":{"a":1}}"#, "{file:?}");
        }
        assert_eq!(tree_record("t", b"\0\0"), br#"{"table":"t","row":}"#);
    }
}
