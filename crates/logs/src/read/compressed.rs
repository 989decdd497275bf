//! Lines compressed with zstd. Such a file does not change.

use std::{
    io::{self, Read as _},
    path::Path,
};

use super::{file, lines};

/// Reads lines from an offset in the uncompressed data.
///
/// # Errors
/// If the file cannot be read, or is not valid zstd to its end. Earlier lines were passed to `each`.
pub fn read_compressed_lines(path: &Path, from: u64, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
    let mut stream = zstd::Decoder::new(file::open_log_file(path)?)?;
    io::copy(&mut stream.by_ref().take(from), &mut io::sink())?;
    lines::read_lines(&mut stream, from, each)
}

/// Checks that the whole file is valid zstd.
///
/// # Errors
/// If it is invalid or cannot be read.
pub fn check_compressed(path: &Path) -> io::Result<()> {
    io::copy(&mut zstd::Decoder::new(file::open_log_file(path)?)?, &mut io::sink()).map(drop)
}
