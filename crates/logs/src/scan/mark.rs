//! Fingerprints of files: a file whose head and last read bytes are unchanged has only grown.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use xxhash_rust::xxh3::Xxh3;

/// How much of the beginning and of the end is hashed.
const MARKED_BYTES: u64 = 1024;

/// Returns the mark of a file that was read up to `at`.
pub fn compute_mark(file: &File, at: u64) -> io::Result<Vec<u8>> {
    let mut hash = Xxh3::new();
    for begin in [0, at.saturating_sub(MARKED_BYTES)] {
        let length = usize::try_from(MARKED_BYTES.min(at)).unwrap_or_default();
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, begin)?;
        hash.update(&bytes);
    }
    Ok([at.to_le_bytes(), hash.digest().to_le_bytes()].concat())
}

/// Returns whether the marked part of the file is unchanged.
pub fn matches_mark(file: &File, mark: &[u8]) -> bool {
    let at = mark.first_chunk().map(|at| u64::from_le_bytes(*at));
    at.is_some_and(|at| compute_mark(file, at).is_ok_and(|found| found == mark))
}
