//! Baselines as separate programs, so that process start, reading and writing cost the same as in the measured program.

use std::{
    fs::File,
    io::{self, BufWriter, Read as _, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use serde_json::Value;

/// The read size of `translate`.
const READ_CHUNK_BYTES: usize = 128 << 10;

/// Do the least that any translation has to do
#[derive(Args)]
pub struct FloorArgs {
    /// What
    kind: FloorKind,
    /// With which file
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum FloorKind {
    /// Read the lines and count them.
    Lines,
    /// Parse each line into a `serde_json::Value` and print it.
    Value,
}

pub fn run(args: &FloorArgs) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(READ_CHUNK_BYTES, io::stdout().lock());
    let mut count = 0_u64;
    for_each_line(&args.file, |line| {
        count += 1;
        match args.kind {
            FloorKind::Lines => Ok(()),
            FloorKind::Value => print_parsed(line, &mut out),
        }
    })?;
    if matches!(args.kind, FloorKind::Lines) {
        writeln!(out, "{count}")?;
    }
    Ok(out.flush()?)
}

fn print_parsed(line: &[u8], out: &mut impl Write) -> io::Result<()> {
    match serde_json::from_slice::<Value>(line) {
        Ok(value) => serde_json::to_writer(&mut *out, &value)?,
        Err(_) => out.write_all(line)?,
    }
    out.write_all(b"\n")
}

fn for_each_line(file: &PathBuf, mut line: impl FnMut(&[u8]) -> io::Result<()>) -> anyhow::Result<()> {
    let (mut input, mut chunk, mut partial) = (File::open(file)?, vec![0; READ_CHUNK_BYTES], Vec::new());
    loop {
        let length = input.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        let mut rest = chunk.get(..length).unwrap_or_default();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (head, tail) = rest.split_at(end);
            if partial.is_empty() {
                line(head)?;
            } else {
                partial.extend_from_slice(head);
                line(&partial)?;
                partial.clear();
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        partial.extend_from_slice(rest);
    }
    if !partial.is_empty() {
        line(&partial)?;
    }
    Ok(())
}
