//! `fake` and `fake-child`: a fake agent, and what it leaves behind. Started by tests.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use switchboard_testkit::fake::{child, parse, perform};

/// Play an agent that behaves as a script says
#[derive(Args)]
pub struct Fake {
    /// The script
    script: PathBuf,
    /// What the agent is started with
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// A child of a fake agent, which does nothing
#[derive(Args)]
pub struct FakeChild {
    /// How it does nothing
    words: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Fake) -> anyhow::Result<ExitCode> {
    let script = fs::read_to_string(&args.script).with_context(|| format!("cannot read {}", args.script.display()))?;
    perform(&parse(&script)?, &args.args)
}

/// Runs the command.
pub fn run_child(args: &FakeChild) -> anyhow::Result<()> {
    child(&args.words)
}
