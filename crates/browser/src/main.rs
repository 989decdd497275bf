//! The page in a real browser: every scenario with a server and a browser of its own. A program and not a test of
//! cargo's, because it needs Chromium and a place without network: `cargo xtask` sees to both.

mod browser;
mod cable;
mod kept;
mod measure;
mod pictures;
mod play;
mod scenarios;
mod server;
mod soak;
mod tab;
mod table;
mod trial;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};
use switchboard_testkit::stage::{Programs, isolated};

/// The page in a real browser
#[derive(Parser)]
#[command(name = "switchboard-browser")]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Scenarios(play::Scenarios),
    Pictures(pictures::Pictures),
    Measure(measure::Measure),
    Soak(soak::Soak),
}

/// Where the programs are.
#[derive(Args, Clone)]
struct Place {
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

impl Place {
    /// What a stage needs.
    fn programs(&self) -> Programs {
        Programs { clis: self.clis.clone(), node: self.node.clone() }
    }
}

fn main() -> ExitCode {
    let line = Line::parse();
    if !isolated() {
        say("error: there is a way out of here, and a browser would take it; run this by `cargo xtask`");
        return ExitCode::FAILURE;
    }
    let done = match line.command {
        Command::Scenarios(args) => play::run(&args),
        Command::Pictures(args) => pictures::run(&args),
        Command::Measure(args) => measure::run(&args),
        Command::Soak(args) => soak::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line. A reader that has seen enough is no failure.
fn say(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
