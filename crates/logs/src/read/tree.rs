//! A session that is spread over many small files, each of them a record.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

use switchboard_agents::{Host, Piece};

use super::{disk::Disk, file, on_one_line};

/// Gives the records from a number on. A piece that vanished meanwhile is no record.
///
/// # Errors
/// If a piece cannot be read. All others were given.
pub fn read(
    path: &Path,
    pieces: fn(&dyn Host, &Path) -> Vec<Piece>,
    from: u64,
    each: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<u64> {
    fs::metadata(path)?;
    let (mut number, mut broken) = (0, None);
    for piece in pieces(&Disk, path) {
        match file::whole(&piece.path) {
            Ok(bytes) if number >= from => each(number, &record(piece.table, &bytes)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => broken = Some(named(&piece.path, &error)),
        }
        number += 1;
    }
    broken.map_or(Ok(number.max(from)), Err)
}

/// What changes whenever one of the pieces does.
///
/// # Errors
/// If the session's own file is not there.
pub fn mark(path: &Path, pieces: fn(&dyn Host, &Path) -> Vec<Piece>) -> io::Result<String> {
    fs::metadata(path)?;
    let (mut count, mut bytes, mut last) = (0_u64, 0_u64, (0, 0));
    for meta in pieces(&Disk, path).iter().filter_map(|piece| fs::metadata(&piece.path).ok()) {
        (count, bytes) = (count + 1, bytes + meta.size());
        last = last.max((meta.mtime(), meta.mtime_nsec()));
    }
    Ok(format!("{count}.{bytes}.{}.{}", last.0, last.1))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The file as it is, with what it is. One that is no JSON makes a record that is none.
fn record(table: &str, bytes: &[u8]) -> Vec<u8> {
    let mut record = format!(r#"{{"table":"{table}","row":"#).into_bytes();
    record.extend_from_slice(&on_one_line(bare(bytes)));
    record.push(b'}');
    record
}

/// Without what an editor puts before a text, and without the zeros behind one that was not written to its end.
fn bare(bytes: &[u8]) -> &[u8] {
    let mut bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    while let [rest @ .., 0] = bytes {
        bytes = rest;
    }
    bytes.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::record;

    #[test]
    fn what_is_around_the_json_of_a_file_is_left_out() {
        for file in ["{\"a\":1}", " {\"a\":1}\n", "\u{feff}{\"a\":1}", "{\"a\":1}\n\0\0\0"] {
            assert_eq!(record("t", file.as_bytes()), br#"{"table":"t","row":{"a":1}}"#, "{file:?}");
        }
        assert_eq!(record("t", b"\0\0"), br#"{"table":"t","row":}"#);
    }
}
