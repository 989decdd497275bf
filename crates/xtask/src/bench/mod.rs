//! `bench`: how fast, and how much memory. Always the release build, always beside something that is measured in the
//! same run.

pub mod floor;
mod memory;
mod table;
mod translate;

use std::path::PathBuf;

use anyhow::ensure;
use clap::Subcommand;
use serde::Deserialize;

use crate::process::{cargo, output, repository, run as run_program, testkit};

/// Measure speed and memory
#[derive(Subcommand)]
pub enum Bench {
    Translate(translate::Translate),
    Memory(memory::Memory),
}

/// Runs the command.
pub fn run(args: &Bench) -> anyhow::Result<()> {
    match args {
        Bench::Translate(args) => translate::run(args),
        Bench::Memory(args) => memory::run(args),
    }
}

/// Builds the programs that are measured. One build for both, so that they share every library and setting.
fn build() -> anyhow::Result<()> {
    run_program(&mut cargo(&["build", "--release", "--package", "switchboard-cli", "--package", "switchboard-xtask"]))
}

fn built(name: &str) -> PathBuf {
    repository().join("target/release").join(name)
}

/// What there is to translate from and to.
#[derive(Deserialize)]
struct Names {
    sources: Vec<String>,
    dialects: Vec<String>,
}

impl Names {
    /// All names, or those that were asked for.
    fn chosen(source: Option<&str>, dialect: Option<&str>) -> anyhow::Result<Self> {
        let mut names: Self = serde_json::from_str(&output(&mut testkit(&["list"])?)?)?;
        let keep =
            |names: &mut Vec<String>, only: Option<&str>| names.retain(|name| only.is_none_or(|only| only == name));
        keep(&mut names.sources, source);
        keep(&mut names.dialects, dialect);
        ensure!(!names.sources.is_empty(), "no such source, or no recordings of it");
        ensure!(!names.dialects.is_empty(), "no such dialect");
        Ok(names)
    }
}
