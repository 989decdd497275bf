//! Lines that were compressed by zstd. Such a file does not change.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use super::lines;

/// Gives the lines from a place in what is compressed.
///
/// # Errors
/// If the file cannot be read, or it is not zstd to its end. The lines before were given.
pub fn read(path: &Path, from: u64, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
    let mut stream = zstd::Decoder::new(File::open(path)?)?;
    io::copy(&mut stream.by_ref().take(from), &mut io::sink())?;
    lines::read(&mut stream, from, each)
}
