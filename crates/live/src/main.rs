//! Scenarios with the real agents against scripted models. This is a program and not a cargo test, because it needs the
//! pinned agents and a network namespace, which `cargo xtask live` provides.

mod embedded_engine;
mod harness;
mod observed_run;
mod scenario;
mod scenarios;
mod trial;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::Parser;
use switchboard_event::SandboxMode;
use switchboard_testkit::{
    clis::{AGENT_CLIS, AgentCli},
    stage::{StagePrograms, is_isolated},
};

use trial::sandbox_flag;

/// Run every scenario with every real agent
#[derive(Parser)]
#[command(name = "switchboard-live")]
struct LiveArgs {
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
    #[arg(long, value_parser = parse_sandbox)]
    sandbox: Vec<SandboxMode>,
    /// Run each scenario in one of the sandboxes, in turn; those about confinement run in all
    #[arg(long, requires = "sandbox")]
    alternate: bool,
    /// Leave out agents that are not installed, instead of failing
    #[arg(long)]
    installed: bool,
}

fn main() -> ExitCode {
    let args = LiveArgs::parse();
    if !is_isolated() {
        print_line("error: there is a way out of here, and agents would take it; run this by `cargo xtask live`");
        return ExitCode::FAILURE;
    }
    let programs = StagePrograms { clis: args.clis, node: args.node };
    let is_played = |cli: &AgentCli| !args.installed || programs.clis.join(cli.program).exists();
    let clis = AGENT_CLIS.iter().filter(|cli| is_played(cli)).collect();
    let plan = scenario::ScenarioPlan {
        switchboard: args.switchboard,
        clis,
        only: args.only,
        sandboxes: args.sandbox,
        is_alternating: args.alternate,
    };
    if scenario::run_all(&programs, &plan, args.jobs) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse_sandbox(flag: &str) -> Result<SandboxMode, String> {
    let known = [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite];
    known.into_iter().find(|mode| sandbox_flag(*mode) == flag).ok_or_else(|| format!("no confining sandbox: {flag}"))
}

/// Prints a line. A closed output is not an error.
fn print_line(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
