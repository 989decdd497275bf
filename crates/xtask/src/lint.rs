//! `lint`: rustfmt and clippy.

use clap::Args;

use crate::process::{cargo_command, run_program};

/// Check the format, and clippy without any warning
#[derive(Args)]
pub struct LintTask {}

pub fn run_lint(_: &LintTask) -> anyhow::Result<()> {
    run_program(&mut cargo_command(&["fmt", "--all", "--check"]))?;
    run_program(&mut cargo_command(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"]))
}
