//! `bench`: how fast, and how much memory. Always the release build, always beside something that is measured in the
//! same run.

mod board;
pub mod floor;
mod harness;
pub mod logs;
mod memory;
pub mod programs;
mod run;
mod serve;
mod table;
mod translate;

use clap::Subcommand;

/// Measure speed and memory
#[derive(Subcommand)]
pub enum Bench {
    Translate(translate::Translate),
    Memory(memory::Memory),
    Run(run::Run),
    Serve(serve::Serve),
    Harness(harness::Harness),
    Logs(logs::Logs),
    Board(board::Board),
}

/// Runs the command.
pub fn run(args: &Bench) -> anyhow::Result<()> {
    match args {
        Bench::Translate(args) => translate::run(args),
        Bench::Memory(args) => memory::run(args),
        Bench::Run(args) => run::run(args),
        Bench::Serve(args) => serve::run(args),
        Bench::Harness(args) => harness::run(args),
        Bench::Logs(args) => logs::run(args),
        Bench::Board(args) => board::run(args),
    }
}
