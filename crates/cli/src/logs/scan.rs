//! `switchboard logs scan`: brings the index up to date.

use std::io::{self, Write as _};

use clap::Args;
use switchboard_agents::Depth;

use super::place::Place;
use crate::failure::Failure;

/// Bring the index of logs up to date
#[derive(Args)]
pub struct Scan {
    /// Keep copies of the raw records too, for when the agent deletes its logs
    #[arg(long)]
    keep: bool,
}

/// Runs the command.
pub fn run(args: &Scan, place: &Place) -> Result<(), Failure> {
    let library = place.library(args.keep)?;
    let report = library.refresh(Depth::All, &|_| {})?;
    writeln!(io::stdout(), "{} files, {} read", report.files, report.read).map_err(Failure::Output)
}
