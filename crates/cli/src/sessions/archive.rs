//! `switchboard sessions archive`: sessions out of the way, without losing them.

use std::path::PathBuf;

use clap::Args;
use switchboard_store::SessionLog as _;

use super::{found, say};
use crate::{data, failure::Failure};

/// Put sessions away, so that lists do not show them
///
/// Nothing of them is lost: `sessions list --archived` shows them, and every other command finds them by their ids.
#[derive(Args)]
pub struct Archive {
    /// The sessions: ids or the beginnings of them, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,
    /// Take them out again
    #[arg(long)]
    undo: bool,
}

/// Runs the command.
pub fn run(args: &Archive, data: Option<PathBuf>) -> Result<(), Failure> {
    let log = data::log(data)?;
    for session in found::find_all(&*log, &args.sessions)? {
        log.set_archived(&session.id, !args.undo)?;
        say(&format!("{} {}", if args.undo { "took out" } else { "put away" }, session.id));
    }
    Ok(())
}
