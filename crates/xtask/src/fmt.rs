//! `fmt`: one form for all.

use clap::Args;

use crate::process::{cargo, run as run_program};

/// Format all code
#[derive(Args)]
pub struct Fmt {}

/// Runs the command.
pub fn run(_: &Fmt) -> anyhow::Result<()> {
    run_program(&mut cargo(&["fmt", "--all"]))
}
