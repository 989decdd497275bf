//! `lint`: form, and what clippy sees.

use clap::Args;

use crate::process::{cargo, run as run_program};

/// Check the format, and clippy without any warning
#[derive(Args)]
pub struct Lint {}

/// Runs the command.
pub fn run(_: &Lint) -> anyhow::Result<()> {
    run_program(&mut cargo(&["fmt", "--all", "--check"]))?;
    run_program(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"]))
}
