//! `fmt`: formats all code.

use clap::Args;

use crate::process::{cargo_command, run_program};

/// Format all code
#[derive(Args)]
pub struct FmtTask {}

pub fn run_fmt(_: &FmtTask) -> anyhow::Result<()> {
    run_program(&mut cargo_command(&["fmt", "--all"]))
}
