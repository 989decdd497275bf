//! `soak board`: a page that watches a busy session for minutes.

use clap::Args;

use crate::{browser::release_command, process::run_program};

/// Watch a busy session in a real browser, and check that neither the page nor the server grows
#[derive(Args)]
pub struct BoardSoak {
    /// For how long
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// How many events a second
    #[arg(long, default_value_t = 1_000)]
    rate: u64,
}

impl Default for BoardSoak {
    fn default() -> Self {
        Self { minutes: 10.0, rate: 1_000 }
    }
}

pub fn soak_board(args: &BoardSoak) -> anyhow::Result<()> {
    let (minutes, rate) = (args.minutes.to_string(), args.rate.to_string());
    run_program(&mut release_command(&["soak", "--minutes", &minutes, "--rate", &rate])?)
}
