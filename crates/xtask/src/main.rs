//! Development commands: `cargo xtask`. They start other programs and report the results; the work itself is in the
//! crates and in the test kit.

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
mod pypi;
mod scenarios;
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
struct XtaskCli {
    #[command(subcommand)]
    command: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    Test(test::TestTask),
    Lint(lint::LintTask),
    Fmt(fmt::FmtTask),
    Snapshots(snapshots::SnapshotsTask),
    Types(types::TypesTask),
    Fuzz(fuzz::FuzzTask),
    Soak(soak::SoakTask),
    Live(live::LiveTask),
    Browser(browser::BrowserTask),
    Screenshots(screenshots::ScreenshotsTask),
    Stage(stage::StageTask),
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    #[command(name = "__floor", hide = true)]
    Floor(bench::floor::FloorArgs),
}

fn main() -> ExitCode {
    let result = match XtaskCli::parse().command {
        XtaskCommand::Test(args) => test::run(&args),
        XtaskCommand::Lint(args) => lint::run_lint(&args),
        XtaskCommand::Fmt(args) => fmt::run_fmt(&args),
        XtaskCommand::Snapshots(args) => snapshots::update_snapshots(&args),
        XtaskCommand::Types(args) => types::run(&args),
        XtaskCommand::Fuzz(args) => fuzz::run(&args),
        XtaskCommand::Soak(args) => soak::run(&args),
        XtaskCommand::Live(args) => live::run(&args),
        XtaskCommand::Browser(args) => browser::run(&args),
        XtaskCommand::Screenshots(args) => screenshots::take_screenshots(&args),
        XtaskCommand::Stage(args) => stage::run_on_stage(&args),
        XtaskCommand::Bench(args) => bench::run(&args),
        XtaskCommand::Floor(args) => bench::floor::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line. A closed output is not an error.
fn print_line(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
