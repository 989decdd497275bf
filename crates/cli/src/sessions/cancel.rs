//! `switchboard sessions cancel`: ends sessions, wherever they run.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use switchboard_store::{SessionLog, SessionRecord};
use tokio::time::{sleep, timeout};

use super::{found, process, say};
use crate::{data, failure::Failure, host};

/// End sessions
///
/// The agent and all that it started are stopped. What was said and done stays, and can be gone on with.
#[derive(Args)]
pub struct Cancel {
    /// The sessions: ids or the beginnings of them, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,
}

/// So long an agent may take to end; one that does not is killed before.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the command.
pub fn run(args: &Cancel, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::data_folder(data)?;
    let log = data::log(Some(folder.clone()))?;
    let sessions = found::find_all(&*log, &args.sessions)?;
    host::runtime()?.block_on(async {
        for session in &sessions {
            let Some(remote) = process::of(&folder, session)? else {
                say(&format!("session {} has ended already: {}", session.id, session.state));
                continue;
            };
            let cancelled = remote.cancel_session(&session.id).await;
            cancelled.map_err(|error| process::explained(&*log, session, error))?;
            let ended = timeout(PATIENCE, end(&*log, session)).await;
            let late = |_| Failure::Machine(format!("session {} was told to end, and has not", session.id));
            say(&format!("session {} has ended: {}", session.id, ended.map_err(late)??));
        }
        Ok(())
    })
}

/// Waits until it has ended, and says how.
async fn end(log: &dyn SessionLog, session: &SessionRecord) -> Result<&'static str, Failure> {
    loop {
        match log.get_session(&session.id)? {
            Some(now) if now.state.is_final() => return Ok(now.state.name()),
            None => return Ok("deleted"),
            Some(_) => sleep(LOOK).await,
        }
    }
}
