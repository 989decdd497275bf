//! `soak`: endless sessions, for a while. The test kit does it.

use clap::Args;

use crate::process::{fast_testkit, run as run_program};

/// Run endless sessions of all sources through all dialects, and check that memory stays flat
#[derive(Args)]
pub struct Soak {
    /// For how long
    #[arg(long, default_value_t = 5)]
    minutes: u64,
}

/// Runs the command.
pub fn run(args: &Soak) -> anyhow::Result<()> {
    run_program(&mut fast_testkit(&["soak", "--minutes", &args.minutes.to_string()])?)
}
