//! Development commands: `cargo xtask`. They start other programs and report the results; the work itself is in the
//! crates and in the test kit.

mod bench;
mod browser;
mod live;
mod load;
mod process;
mod soak;
mod tasks;
mod test;
mod tools;
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
    Lint(tasks::LintTask),
    Fmt(tasks::FmtTask),
    Snapshots(tasks::SnapshotsTask),
    Types(types::TypesTask),
    Fuzz(load::FuzzTask),
    Soak(soak::SoakTask),
    Live(live::LiveTask),
    Browser(browser::BrowserTask),
    Screenshots(tasks::ScreenshotsTask),
    Stage(tasks::StageTask),
    #[command(subcommand)]
    Bench(bench::BenchCommand),
    #[command(name = "__floor", hide = true)]
    Floor(bench::FloorArgs),
}

fn main() -> ExitCode {
    let result = match XtaskCli::parse().command {
        XtaskCommand::Test(args) => test::run(&args),
        XtaskCommand::Lint(args) => tasks::run_lint(&args),
        XtaskCommand::Fmt(args) => tasks::run_fmt(&args),
        XtaskCommand::Snapshots(args) => tasks::update_snapshots(&args),
        XtaskCommand::Types(args) => types::run(&args),
        XtaskCommand::Fuzz(args) => load::run_fuzz(&args),
        XtaskCommand::Soak(args) => soak::run_soak(&args),
        XtaskCommand::Live(args) => live::run(&args),
        XtaskCommand::Browser(args) => browser::run(&args),
        XtaskCommand::Screenshots(args) => tasks::take_screenshots(&args),
        XtaskCommand::Stage(args) => tasks::run_on_stage(&args),
        XtaskCommand::Bench(args) => bench::run(&args),
        XtaskCommand::Floor(args) => bench::run_floor(&args),
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
