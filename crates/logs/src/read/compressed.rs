//! Lines that were compressed by zstd. Such a file does not change.

use std::{
    io::{self, Read as _},
    path::Path,
};

use super::{file, lines};

/// Gives the lines from a place in what is compressed.
///
/// # Errors
/// If the file cannot be read, or it is not zstd to its end. The lines before were given.
pub fn read(path: &Path, from: u64, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
    let mut stream = zstd::Decoder::new(file::open(path)?)?;
    io::copy(&mut stream.by_ref().take(from), &mut io::sink())?;
    lines::read(&mut stream, from, each)
}

/// Makes sure that all of it is zstd.
///
/// # Errors
/// If it is not, or cannot be read.
pub fn check(path: &Path) -> io::Result<()> {
    io::copy(&mut zstd::Decoder::new(file::open(path)?)?, &mut io::sink()).map(drop)
}
