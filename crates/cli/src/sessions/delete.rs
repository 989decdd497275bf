//! `switchboard sessions delete` and `archive`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use switchboard_client::{ArchiveRequest, SessionQuery, SessionView};
use switchboard_event::Timestamp;
use switchboard_store::{SessionFilter, SessionLog as _, SessionPhase, SessionRecord, SqliteStore};

use super::{find_sessions, remote, summary_line};
use crate::{
    data,
    failure::Failure,
    host,
    remote::{ServerClient, session_record},
    terminal::{Terminal, print_note},
};

/// Maximum number of sessions listed in the confirmation.
const MAX_NAMED: usize = 10;

/// Permanently delete sessions
///
/// A session that has not ended is not deleted unless --force cancels it first. On a terminal you are asked to confirm;
/// elsewhere, deleting more than one session requires --yes.
#[derive(Args)]
pub struct DeleteArgs {
    /// Sessions: IDs or their beginnings, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION", required_unless_present_any = ["older_than", "all_ended"])]
    sessions: Vec<String>,
    /// Sessions that ended longer ago than this, such as 30d, 12h
    #[arg(long, value_name = "TIME", value_parser = host::parse_duration, conflicts_with = "sessions")]
    older_than: Option<Duration>,
    /// All sessions that have ended
    #[arg(long, conflicts_with_all = ["sessions", "older_than"])]
    all_ended: bool,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
    /// Cancel sessions that have not ended
    #[arg(long, short, requires = "sessions")]
    force: bool,
}

pub fn run(args: &DeleteArgs, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::data_directory(data)?;
    let log = data::open_log(Some(folder.clone()))?;
    let sessions = args.chosen(&log)?;
    let delete = |session: &SessionRecord| delete_session(&folder, &log, session);
    if args.delete_sessions(&sessions, delete)? {
        log.reclaim_space()?;
    }
    Ok(())
}

pub fn run_on_server(args: &DeleteArgs, server: &ServerClient) -> Result<(), Failure> {
    let sessions: Vec<_> = args.chosen_on_server(server)?.iter().map(session_record).collect();
    args.delete_sessions(&sessions, |session| server.wait(server.server.delete_session(&session.id))).map(drop)
}

impl DeleteArgs {
    /// Deletes sessions after a confirmation. Returns whether it did.
    fn delete_sessions(
        &self,
        sessions: &[SessionRecord],
        delete: impl Fn(&SessionRecord) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        if let Some(open) = sessions.iter().find(|session| !session.state.is_final() && !self.force) {
            return Err(Failure::Refused(format!(
                "session {id} has not ended\nhint: end it with `switchboard sessions cancel {id}`, or use --force",
                id = open.id
            )));
        }
        if sessions.is_empty() {
            print_note("no sessions to delete");
            return Ok(false);
        }
        if !self.is_meant(sessions)? {
            print_note("no sessions were deleted");
            return Ok(false);
        }
        sessions.iter().try_for_each(delete)?;
        print_note(&match sessions {
            [one] => format!("deleted {}", one.id),
            many => format!("deleted {} sessions", many.len()),
        });
        Ok(true)
    }

    fn chosen_on_server(&self, server: &ServerClient) -> Result<Vec<SessionView>, Failure> {
        if !self.all_ended && self.older_than.is_none() {
            return server.find_sessions(&self.sessions);
        }
        server.list_sessions(&SessionQuery::default(), usize::MAX, |session| {
            session.state.is_final() && session.ended_at.is_some_and(self.is_old())
        })
    }

    /// Returns whether a session that ended then is old enough.
    fn is_old(&self) -> impl Fn(Timestamp) -> bool {
        let age = self.older_than.map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let now = host::now();
        move |ended| now.millis_since(ended) >= age
    }

    fn chosen(&self, log: &SqliteStore) -> Result<Vec<SessionRecord>, Failure> {
        if !self.all_ended && self.older_than.is_none() {
            return find_sessions(log, &self.sessions);
        }
        let states = vec![SessionPhase::Done, SessionPhase::Failed, SessionPhase::Cancelled];
        let ended = log.list_sessions(&SessionFilter { states, ..SessionFilter::default() })?.into_iter();
        Ok(ended.filter(|session| session.ended.is_some_and(self.is_old())).collect())
    }

    fn is_meant(&self, sessions: &[SessionRecord]) -> Result<bool, Failure> {
        let terminal = Terminal::new();
        if self.yes {
            return Ok(true);
        }
        if terminal.can_ask() {
            return Ok(terminal.confirm(&confirmation_text(sessions)));
        }
        match sessions {
            [_] => Ok(true),
            many => {
                let text = format!("{} sessions would be deleted\nhint: confirm with --yes", many.len());
                Err(Failure::Refused(text))
            }
        }
    }
}

/// Deletes a session; one that has not ended is cancelled and deleted by the process that runs it.
fn delete_session(folder: &Path, log: &SqliteStore, session: &SessionRecord) -> Result<(), Failure> {
    let Some(remote) = remote::connect_owner(folder, session)? else { return Ok(log.delete_session(&session.id)?) };
    let deleted = host::build_runtime()?.block_on(remote.delete_session(&session.id));
    deleted.map_err(|error| remote::explain_remote_error(log, session, error))
}

fn confirmation_text(sessions: &[SessionRecord]) -> String {
    let now = host::now();
    let mut lines: Vec<_> = sessions.iter().take(MAX_NAMED).map(|session| summary_line(session, now)).collect();
    if sessions.len() > MAX_NAMED {
        lines.push(format!("  … and {} more", sessions.len() - MAX_NAMED));
    }
    let what =
        if sessions.len() == 1 { "this session".to_owned() } else { format!("these {} sessions", sessions.len()) };
    format!("{}\npermanently delete {what}?", lines.join("\n"))
}

/// Archive sessions, which hides them from lists
///
/// `sessions list --archived` lists them, and every other command finds them by their IDs.
#[derive(Args)]
pub struct ArchiveArgs {
    /// Sessions: IDs or their beginnings, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,
    /// Restore archived sessions
    #[arg(long)]
    undo: bool,
}

pub fn run_archive(args: &ArchiveArgs, data: Option<PathBuf>) -> Result<(), Failure> {
    let log = data::open_log(data)?;
    for session in find_sessions(&*log, &args.sessions)? {
        log.set_archived(&session.id, !args.undo)?;
        args.note_done(&session.id);
    }
    Ok(())
}

pub fn run_archive_on_server(args: &ArchiveArgs, server: &ServerClient) -> Result<(), Failure> {
    for session in server.find_sessions(&args.sessions)? {
        server.wait(server.server.archive_session(&session.id, &ArchiveRequest { archived: !args.undo }))?;
        args.note_done(&session.id);
    }
    Ok(())
}

impl ArchiveArgs {
    fn note_done(&self, session: &str) {
        print_note(&format!("{} {session}", if self.undo { "restored" } else { "archived" }));
    }
}
