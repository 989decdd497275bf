//! `switchboard sessions interrupt`: stops the turn of a session, wherever it runs.

use std::path::PathBuf;

use clap::Args;

use super::{found, process, say};
use crate::{data, failure::Failure, host};

/// Stop what the agent is doing; a session that waits for prompts goes on
///
/// What is asked or queued is not answered for it.
#[derive(Args)]
pub struct Interrupt {
    /// The session: its id or the beginning of it, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
}

/// Runs the command.
pub fn run(args: &Interrupt, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::data_folder(data)?;
    let log = data::log(Some(folder.clone()))?;
    let session = found::find(&*log, &args.session)?;
    let remote = process::living(&folder, &session)?;
    let interrupted = host::runtime()?.block_on(remote.interrupt_turn(&session.id));
    interrupted.map_err(|error| process::explained(&*log, &session, error))?;
    say(&format!("session {} was interrupted", session.id));
    Ok(())
}
