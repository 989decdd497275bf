//! `switchboard sessions delete`: sessions and all that is known of them.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use switchboard_event::Timestamp;
use switchboard_store::{SessionFilter, SessionLog, SessionPhase, SessionRecord, SqliteStore};

use super::{found, process, say};
use crate::{data, failure::Failure, host, terminal::Terminal};

/// Delete sessions for ever
///
/// A session that has not ended is not deleted, unless --force cancels it first. On a terminal it is asked whether you
/// mean it; elsewhere more than one is deleted only with --yes.
#[derive(Args)]
pub struct Delete {
    /// The sessions: ids or the beginnings of them, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION", required_unless_present_any = ["older_than", "all_ended"])]
    sessions: Vec<String>,
    /// Those that ended longer ago than this, such as 30d, 12h
    #[arg(long, value_name = "TIME", value_parser = host::duration, conflicts_with = "sessions")]
    older_than: Option<Duration>,
    /// All that have ended
    #[arg(long, conflicts_with_all = ["sessions", "older_than"])]
    all_ended: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Cancel those that have not ended
    #[arg(long, short, requires = "sessions")]
    force: bool,
}

/// Runs the command.
pub fn run(args: &Delete, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::data_folder(data)?;
    let log = data::log(Some(folder.clone()))?;
    let sessions = args.chosen(&log)?;
    if let Some(open) = sessions.iter().find(|session| !session.state.is_final() && !args.force) {
        return Err(Failure::Refused(format!(
            "session {id} has not ended\nhint: end it with `switchboard sessions cancel {id}`, or use --force",
            id = open.id
        )));
    }
    if sessions.is_empty() {
        say("there is nothing to delete");
        return Ok(());
    }
    if !args.is_meant(&sessions)? {
        say("nothing was deleted");
        return Ok(());
    }
    sessions.iter().try_for_each(|session| delete(&folder, &log, session))?;
    log.reclaim_space()?;
    say(&match sessions.as_slice() {
        [one] => format!("deleted {}", one.id),
        many => format!("deleted {} sessions", many.len()),
    });
    Ok(())
}

impl Delete {
    fn chosen(&self, log: &SqliteStore) -> Result<Vec<SessionRecord>, Failure> {
        if !self.all_ended && self.older_than.is_none() {
            return found::find_all(log, &self.sessions);
        }
        let age = self.older_than.map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let now = host::now();
        let is_old = |ended: Timestamp| now.millis_since(ended) >= age;
        let states = vec![SessionPhase::Done, SessionPhase::Failed, SessionPhase::Cancelled];
        let ended = log.list_sessions(&SessionFilter { states, ..SessionFilter::default() })?.into_iter();
        Ok(ended.filter(|session| session.ended.is_some_and(is_old)).collect())
    }

    fn is_meant(&self, sessions: &[SessionRecord]) -> Result<bool, Failure> {
        let terminal = Terminal::new();
        if self.yes {
            return Ok(true);
        }
        if terminal.can_ask() {
            return Ok(terminal.confirms(&question(sessions)));
        }
        match sessions {
            [_] => Ok(true),
            many => {
                let text = format!("{} sessions would be deleted\nhint: --yes says that you mean it", many.len());
                Err(Failure::Refused(text))
            }
        }
    }
}

/// One that goes on is deleted by the process that runs it, which cancels it first.
fn delete(folder: &Path, log: &SqliteStore, session: &SessionRecord) -> Result<(), Failure> {
    let Some(remote) = process::of(folder, session)? else { return Ok(log.delete_session(&session.id)?) };
    let deleted = host::runtime()?.block_on(remote.delete_session(&session.id));
    deleted.map_err(|error| process::explained(log, session, error))
}

/// Maximum number of sessions listed in the confirmation.
const NAMED: usize = 10;

fn question(sessions: &[SessionRecord]) -> String {
    let now = host::now();
    let mut lines: Vec<_> = sessions.iter().take(NAMED).map(|session| found::one_line(session, now)).collect();
    if sessions.len() > NAMED {
        lines.push(format!("  … and {} more", sessions.len() - NAMED));
    }
    let what =
        if sessions.len() == 1 { "this session".to_owned() } else { format!("these {} sessions", sessions.len()) };
    format!("{}\ndelete {what} for ever?", lines.join("\n"))
}
