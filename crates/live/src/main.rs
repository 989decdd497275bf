//! The real agents against scripted models: every scenario with every agent, two at a time. A program and not a test of
//! cargo's, because it needs the pinned agents and a place without network: `cargo xtask live` sees to both.

mod harness;
mod heard;
mod inside;
mod play;
mod scenarios;
mod served;
mod table;
mod trial;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::Parser;
use switchboard_testkit::{
    clis::{CLIS, Cli},
    stage::{Programs, isolated},
};

/// Run every scenario with every real agent
#[derive(Parser)]
#[command(name = "switchboard-live")]
struct Args {
    /// Switchboard's program
    #[arg(long)]
    switchboard: PathBuf,
    /// The folder of the agents' programs
    #[arg(long)]
    clis: PathBuf,
    /// The folder of node
    #[arg(long)]
    node: PathBuf,
    /// Only those with this in `AGENT SCENARIO`
    #[arg(long, default_value = "")]
    only: String,
    /// How many at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Run sessions in this sandbox, read-only or workspace-write, and expect what it promises; repeatable
    #[arg(long)]
    sandbox: Vec<String>,
    /// Leave out agents that are not installed, instead of failing
    #[arg(long)]
    installed: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if !isolated() {
        say("error: there is a way out of here, and agents would take it; run this by `cargo xtask live`");
        return ExitCode::FAILURE;
    }
    let programs = Programs { clis: args.clis, node: args.node };
    let is_played = |cli: &Cli| !args.installed || programs.clis.join(cli.program).exists();
    let clis = CLIS.iter().filter(|cli| is_played(cli)).collect();
    let plan = play::Plan { switchboard: args.switchboard, clis, only: args.only, sandboxes: args.sandbox };
    if play::all(&programs, &plan, args.jobs) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a line. A reader that has seen enough is no failure.
fn say(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
