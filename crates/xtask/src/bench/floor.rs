//! The floors that speed is measured against, as programs of their own, so that starting, reading and writing cost the
//! same as in the program that is measured.

use std::{
    fs::File,
    io::{self, BufWriter, Read as _, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use serde_json::Value;

/// As much at once as `translate` reads.
const CHUNK: usize = 128 << 10;

/// Do the least that any translation has to do
#[derive(Args)]
pub struct Floor {
    /// What
    kind: Kind,
    /// With which file
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Read the lines and count them.
    Lines,
    /// Parse each line into a `serde_json::Value` and print it.
    Value,
}

/// Runs the command.
pub fn run(args: &Floor) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(CHUNK, io::stdout().lock());
    let mut count = 0_u64;
    each_line(&args.file, |line| {
        count += 1;
        match args.kind {
            Kind::Lines => Ok(()),
            Kind::Value => print(line, &mut out),
        }
    })?;
    if matches!(args.kind, Kind::Lines) {
        writeln!(out, "{count}")?;
    }
    Ok(out.flush()?)
}

fn print(line: &[u8], out: &mut impl Write) -> io::Result<()> {
    match serde_json::from_slice::<Value>(line) {
        Ok(value) => serde_json::to_writer(&mut *out, &value)?,
        Err(_) => out.write_all(line)?,
    }
    out.write_all(b"\n")
}

fn each_line(file: &PathBuf, mut line: impl FnMut(&[u8]) -> io::Result<()>) -> anyhow::Result<()> {
    let (mut input, mut chunk, mut partial) = (File::open(file)?, vec![0; CHUNK], Vec::new());
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
