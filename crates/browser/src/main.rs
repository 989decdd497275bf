//! Scenarios of the page in a real browser, each with its own server and browser. This is a program and not a cargo
//! test, because it needs Chromium and a network namespace, which `cargo xtask` provides.

mod browser;
mod measure;
mod scenario;
mod scenarios;
mod screenshots;
mod server;
mod soak;
mod tab;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};
use switchboard_testkit::stage::{StagePrograms, is_isolated};

/// The page in a real browser
#[derive(Parser)]
#[command(name = "switchboard-browser")]
struct BrowserCli {
    #[command(subcommand)]
    command: BrowserCommand,
}

#[derive(Subcommand)]
enum BrowserCommand {
    Scenarios(scenario::PageScenariosArgs),
    Pictures(screenshots::PicturesArgs),
    Measure(measure::MeasureArgs),
    Soak(soak::PageSoakArgs),
}

/// Where the programs are.
#[derive(Args, Clone)]
struct BrowserPrograms {
    /// Switchboard's program
    #[arg(long)]
    switchboard: PathBuf,
    /// The browser's program
    #[arg(long)]
    chromium: PathBuf,
    /// The program that drives it
    #[arg(long)]
    chromedriver: PathBuf,
    /// The folder of the agents' programs
    #[arg(long, default_value = "/nowhere")]
    clis: PathBuf,
    /// The folder of node
    #[arg(long, default_value = "/nowhere")]
    node: PathBuf,
}

impl BrowserPrograms {
    fn stage_programs(&self) -> StagePrograms {
        StagePrograms { clis: self.clis.clone(), node: self.node.clone() }
    }
}

fn main() -> ExitCode {
    let line = BrowserCli::parse();
    if !is_isolated() {
        print_line("error: there is a way out of here, and a browser would take it; run this by `cargo xtask`");
        return ExitCode::FAILURE;
    }
    let done = match line.command {
        BrowserCommand::Scenarios(args) => scenario::run(&args),
        BrowserCommand::Pictures(args) => screenshots::run(&args),
        BrowserCommand::Measure(args) => measure::run(&args),
        BrowserCommand::Soak(args) => soak::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_line(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line. A closed output is not an error.
fn print_line(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
