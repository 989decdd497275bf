//! What the part of a file that was read began and ended with: a file that still does has only grown.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use xxhash_rust::xxh3::Xxh3;

/// How much of the beginning and of the end is looked at.
const SHORT: u64 = 1024;

/// The mark of a file that was read up to `at`.
pub fn of(file: &File, at: u64) -> io::Result<Vec<u8>> {
    let mut hash = Xxh3::new();
    for begin in [0, at.saturating_sub(SHORT)] {
        let length = usize::try_from(SHORT.min(at)).unwrap_or_default();
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, begin)?;
        hash.update(&bytes);
    }
    Ok([at.to_le_bytes(), hash.digest().to_le_bytes()].concat())
}

/// The file begins as it did when it was marked.
pub fn still_holds(file: &File, mark: &[u8]) -> bool {
    let at = mark.first_chunk().map(|at| u64::from_le_bytes(*at));
    at.is_some_and(|at| of(file, at).is_ok_and(|found| found == mark))
}
