//! `bench`: speed and memory, always of the release build and always compared with a baseline in the same run.

mod board;
mod harness;
pub mod logs;
mod run;
mod serve;
mod translate;

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::PathBuf;

use anyhow::ensure;
use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;
use serde_json::Value;

use crate::process::{build_directory, cargo_command, read_output, run_program, testkit_command};

/// Measure speed and memory
#[derive(Subcommand)]
pub enum BenchCommand {
    Translate(translate::TranslateBench),
    Memory(translate::MemoryBench),
    Run(run::RunBench),
    Serve(serve::ServeBench),
    Harness(harness::HarnessBench),
    Logs(logs::LogsBench),
    Board(board::BoardBench),
}

pub fn run(args: &BenchCommand) -> anyhow::Result<()> {
    match args {
        BenchCommand::Translate(args) => translate::run_translate(args),
        BenchCommand::Memory(args) => translate::run_memory(args),
        BenchCommand::Run(args) => run::run(args),
        BenchCommand::Serve(args) => serve::run(args),
        BenchCommand::Harness(args) => harness::run(args),
        BenchCommand::Logs(args) => logs::run(args),
        BenchCommand::Board(args) => board::run(args),
    }
}

/// Builds the measured programs in one build, so that they share every library and setting.
pub fn build_release() -> anyhow::Result<()> {
    run_program(&mut cargo_command(&[
        "build",
        "--release",
        "--package",
        "switchboard-cli",
        "--package",
        "switchboard-xtask",
    ]))
}

fn release_program(name: &str) -> PathBuf {
    build_directory().join("release").join(name)
}

/// The available sources and dialects.
#[derive(Deserialize)]
struct TranslationNames {
    pub sources: Vec<String>,
    pub dialects: Vec<String>,
}

impl TranslationNames {
    /// Returns all names, or the selected ones.
    fn load_selected(source: Option<&str>, dialect: Option<&str>) -> anyhow::Result<Self> {
        let mut names: Self = serde_json::from_str(&read_output(&mut testkit_command(&["list"])?)?)?;
        let keep =
            |names: &mut Vec<String>, only: Option<&str>| names.retain(|name| only.is_none_or(|only| only == name));
        keep(&mut names.sources, source);
        keep(&mut names.dialects, dialect);
        ensure!(!names.sources.is_empty(), "no such source, or no recordings of it");
        ensure!(!names.dialects.is_empty(), "no such dialect");
        Ok(names)
    }
}

/// Aligns the first two columns left and figures right.
fn format_table(head: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        std::iter::once(head.iter().map(|&cell| cell.to_owned()).collect()).chain(rows.iter().cloned()).collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |(column, cell): (usize, &String)| {
        let width = widths.get(column).copied().unwrap_or(0);
        if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    };
    let line =
        |row: &Vec<String>| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned();
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

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

pub fn run_floor(args: &FloorArgs) -> anyhow::Result<()> {
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
