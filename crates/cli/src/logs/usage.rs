//! `switchboard logs usage`: what was used, and what it cost.

use clap::Args;
use switchboard_agents::Depth;

use super::{
    filter::{self, Only},
    place::Place,
};
use crate::failure::Failure;

/// Tokens and cost, each reply counted once
#[derive(Args)]
pub struct Usage {
    #[command(flatten)]
    only: Only,
}

/// Runs the command.
pub fn run(args: &Usage, place: &Place) -> Result<(), Failure> {
    let zone = args.only.zone()?;
    let wanted = args.only.filter(&zone)?;
    let (library, _) = place.current(Depth::Tokens)?;
    let _ledger = library.ledger(&filter::resolve(wanted, &library)?)?;
    Ok(())
}
