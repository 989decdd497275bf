//! `bench`: speed and memory, always of the release build and always compared with a baseline in the same run.

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
pub enum BenchCommand {
    Translate(translate::TranslateBench),
    Memory(memory::MemoryBench),
    Run(run::RunBench),
    Serve(serve::ServeBench),
    Harness(harness::HarnessBench),
    Logs(logs::LogsBench),
    Board(board::BoardBench),
}

pub fn run(args: &BenchCommand) -> anyhow::Result<()> {
    match args {
        BenchCommand::Translate(args) => translate::run(args),
        BenchCommand::Memory(args) => memory::run(args),
        BenchCommand::Run(args) => run::run(args),
        BenchCommand::Serve(args) => serve::run(args),
        BenchCommand::Harness(args) => harness::run(args),
        BenchCommand::Logs(args) => logs::run(args),
        BenchCommand::Board(args) => board::run(args),
    }
}
