//! `fake` and `fake-child`: a fake agent and its children, started by tests.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use switchboard_testkit::fake::{parse_script, perform_script, run_child};

/// Play an agent that behaves as a script says
#[derive(Args)]
pub struct FakeAgentArgs {
    /// The script
    script: PathBuf,
    /// What the agent is started with
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// A child of a fake agent, which does nothing
#[derive(Args)]
pub struct FakeChildArgs {
    /// How it does nothing
    words: Vec<String>,
}

pub fn run_fake(args: &FakeAgentArgs) -> anyhow::Result<ExitCode> {
    let script = fs::read_to_string(&args.script).with_context(|| format!("cannot read {}", args.script.display()))?;
    perform_script(&parse_script(&script)?, &args.args)
}

pub fn run_fake_child(args: &FakeChildArgs) -> anyhow::Result<()> {
    run_child(&args.words)
}
