//! `switchboard sessions`: all sessions of the data directory, from any terminal. Ended sessions are read from the log;
//! running ones are controlled through the process that runs them. Or all sessions of a server on another machine.

mod approve;
mod delete;
mod follow;
mod history;
mod list;
mod prompt;
mod remote;
mod show;
mod stop;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use delete::{ArchiveArgs, run_archive};
pub use history::SessionHistory;
use list::SessionListRow;
pub use remote::approval_answer;
use switchboard_event::Timestamp;
use switchboard_store::{SessionFilter, SessionLog, SessionRecord, StoreError};

use crate::{
    failure::Failure,
    host,
    remote::{ServerArgs, ServerClient},
};

/// List, follow, control, archive and delete sessions
///
/// Works from any terminal for all sessions of the data directory, whichever process runs them. A session is named by
/// its ID or the beginning of it, by the agent's own ID, by `last`, or by N for the N-th newest.
#[derive(Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    command: SessionsCommand,
    /// Directory where sessions are stored [default: the platform's data directory]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Subcommand)]
enum SessionsCommand {
    List(list::ListSessionsArgs),
    Show(show::ShowSessionArgs),
    Follow(follow::FollowSessionArgs),
    Prompt(prompt::PromptSessionArgs),
    Approve(approve::ApproveArgs),
    Cancel(stop::CancelArgs),
    Interrupt(stop::InterruptArgs),
    Archive(ArchiveArgs),
    Delete(delete::DeleteArgs),
}

pub fn run(args: SessionsArgs) -> Result<ExitCode, Failure> {
    let data = args.data;
    if let Some(server) = args.server.connect(data.as_deref())? {
        return run_on_server(args.command, &server);
    }
    match args.command {
        SessionsCommand::List(args) => list::run(&args, data).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Show(args) => show::run(&args, data).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Follow(args) => follow::run(&args, data),
        SessionsCommand::Prompt(args) => prompt::run(&args, data),
        SessionsCommand::Approve(args) => approve::run(&args, data).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Cancel(args) => stop::run_cancel(&args, data).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Interrupt(args) => stop::run_interrupt(&args, data).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Archive(args) => run_archive(&args, data).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Delete(args) => delete::run(&args, data).map(|()| ExitCode::SUCCESS),
    }
}

fn run_on_server(command: SessionsCommand, server: &ServerClient) -> Result<ExitCode, Failure> {
    match command {
        SessionsCommand::List(args) => list::run_on_server(&args, server).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Show(args) => show::run_on_server(&args, server).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Follow(args) => follow::run_on_server(&args, server),
        SessionsCommand::Prompt(args) => prompt::run_on_server(&args, server).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Approve(args) => approve::run_on_server(&args, server).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Cancel(args) => stop::run_cancel_on_server(&args, server).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Interrupt(args) => stop::run_interrupt_on_server(&args, server).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Archive(args) => delete::run_archive_on_server(&args, server).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Delete(args) => delete::run_on_server(&args, server).map(|()| ExitCode::SUCCESS),
    }
}

/// Returns the session that is meant by an ID, the beginning of one, `last`, or N.
pub fn find_session(log: &dyn SessionLog, what: &str) -> Result<SessionRecord, Failure> {
    log.resolve_session(what, &SessionFilter::default()).map_err(|error| match error {
        StoreError::NoSession(what) => Failure::NoSession(what),
        StoreError::Ambiguous { what, matches } => {
            let sessions = matches.iter().filter_map(|id| log.get_session(id).ok().flatten());
            let known = sessions.map(|session| summary_line(&session, host::now())).collect::<Vec<_>>().join("\n");
            Failure::SeveralSessions { what, known }
        }
        other => other.into(),
    })
}

/// Returns the sessions that are meant, each once.
pub fn find_sessions(log: &dyn SessionLog, all: &[String]) -> Result<Vec<SessionRecord>, Failure> {
    let mut found: Vec<SessionRecord> = Vec::new();
    for what in all {
        let session = find_session(log, what)?;
        if !found.iter().any(|known| known.number == session.number) {
            found.push(session);
        }
    }
    Ok(found)
}

/// Formats a session in one line, with its whole ID.
pub fn summary_line(session: &SessionRecord, now: Timestamp) -> String {
    let row = SessionListRow::new(session, now);
    format!("  {}  {}  {}  {}", session.id, row.agent, row.state.word(), row.task(60))
}
