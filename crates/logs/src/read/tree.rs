//! A session that is spread over many small files, each of them a record.

use std::{fs, io, path::Path};

use switchboard_agents::{Host, Piece};

use super::disk::Disk;

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
        match fs::read(&piece.path) {
            Ok(bytes) if number >= from => each(number, &record(piece.table, &bytes)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => broken = Some(named(&piece.path, &error)),
        }
        number += 1;
    }
    broken.map_or(Ok(number.max(from)), Err)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The file as it is, with what it is. One that is no JSON makes a record that is none.
fn record(table: &str, bytes: &[u8]) -> Vec<u8> {
    let mut record = format!(r#"{{"table":"{table}","row":"#).into_bytes();
    record.extend_from_slice(bytes.trim_ascii());
    record.push(b'}');
    record
}
