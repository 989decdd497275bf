//! Development commands: `cargo xtask`. Starts other programs and says how they fared; the work itself is in the crates
//! and in the test kit.

mod bench;
mod browser;
mod clis;
mod fmt;
mod fuzz;
mod isolation;
mod lint;
mod live;
mod load;
mod npm;
mod place;
mod process;
mod scenarios;
mod schemathesis;
mod screenshots;
mod snapshots;
mod soak;
mod stage;
mod steps;
mod test;
mod types;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

/// Development commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Test(test::Test),
    Lint(lint::Lint),
    Fmt(fmt::Fmt),
    Snapshots(snapshots::Snapshots),
    Types(types::Types),
    Fuzz(fuzz::Fuzz),
    Soak(soak::Soak),
    Live(live::Live),
    Browser(browser::Browser),
    Screenshots(screenshots::Screenshots),
    Stage(stage::Stage),
    #[command(subcommand)]
    Bench(bench::Bench),
    #[command(name = "__floor", hide = true)]
    Floor(bench::floor::Floor),
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Test(args) => test::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Snapshots(args) => snapshots::run(&args),
        Command::Types(args) => types::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::Live(args) => live::run(&args),
        Command::Browser(args) => browser::run(&args),
        Command::Screenshots(args) => screenshots::run(&args),
        Command::Stage(args) => stage::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Floor(args) => bench::floor::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line. A reader that has seen enough is no failure.
fn say(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
