//! `switchboard sessions cancel` and `interrupt`: stop sessions or their turns, whichever process runs them.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use switchboard_client::AgentErrorKind;
use switchboard_store::{SessionLog, SessionRecord};
use tokio::time::{sleep, timeout};

use super::{find_session, find_sessions, remote};
use crate::{
    data,
    failure::Failure,
    host,
    remote::{ServerClient, server_failure},
    terminal::print_note,
};

/// Longer than an agent can take to end before it is killed.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(15);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A request to a server costs more than a query of the log.
const SERVER_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// End sessions
///
/// Stops the agent and every process that it started. The session remains stored and can be continued.
#[derive(Args)]
pub struct CancelArgs {
    /// Sessions: IDs or their beginnings, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,
}

pub fn run_cancel(args: &CancelArgs, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::data_directory(data)?;
    let log = data::open_log(Some(folder.clone()))?;
    let sessions = find_sessions(&*log, &args.sessions)?;
    host::build_runtime()?.block_on(async {
        for session in &sessions {
            let Some(remote) = remote::connect_owner(&folder, session)? else {
                print_note(&format!("session {} has already ended: {}", session.id, session.state));
                continue;
            };
            let cancelled = remote.cancel_session(&session.id).await;
            cancelled.map_err(|error| remote::explain_remote_error(&*log, session, error))?;
            let ended = timeout(CANCEL_TIMEOUT, wait_for_end(&*log, session)).await;
            let late = |_| Failure::Machine(format!("session {} did not end in time", session.id));
            print_note(&format!("session {} has ended: {}", session.id, ended.map_err(late)??));
        }
        Ok(())
    })
}

pub fn run_cancel_on_server(args: &CancelArgs, server: &ServerClient) -> Result<(), Failure> {
    for session in server.find_sessions(&args.sessions)? {
        if session.state.is_final() {
            print_note(&format!("session {} has already ended: {}", session.id, session.state.name()));
            continue;
        }
        server.wait(server.server.cancel_session(&session.id))?;
        // The timer needs the runtime as soon as it is created.
        let ended = async { timeout(CANCEL_TIMEOUT, wait_for_end_on_server(server, &session.id)).await };
        let ended = server.runtime.block_on(ended);
        let late = |_| Failure::Machine(format!("session {} did not end in time", session.id));
        print_note(&format!("session {} has ended: {}", session.id, ended.map_err(late)??));
    }
    Ok(())
}

async fn wait_for_end_on_server(server: &ServerClient, id: &str) -> Result<&'static str, Failure> {
    loop {
        match server.server.get_session(id).await {
            Ok(now) if now.state.is_final() => return Ok(now.state.name()),
            Ok(_) => sleep(SERVER_POLL_INTERVAL).await,
            Err(error) if error.kind == AgentErrorKind::SessionNotFound => return Ok("deleted"),
            Err(error) => return Err(server_failure(error)),
        }
    }
}

/// Waits until the session has ended and returns its state.
async fn wait_for_end(log: &dyn SessionLog, session: &SessionRecord) -> Result<&'static str, Failure> {
    loop {
        match log.get_session(&session.id)? {
            Some(now) if now.state.is_final() => return Ok(now.state.name()),
            None => return Ok("deleted"),
            Some(_) => sleep(POLL_INTERVAL).await,
        }
    }
}

/// Interrupt the current turn; an open session stays open
///
/// Open requests and queued prompts are left unanswered.
#[derive(Args)]
pub struct InterruptArgs {
    /// Session: an ID or its beginning, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
}

pub fn run_interrupt(args: &InterruptArgs, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::data_directory(data)?;
    let log = data::open_log(Some(folder.clone()))?;
    let session = find_session(&*log, &args.session)?;
    let remote = remote::connect_running(&folder, &session)?;
    let interrupted = host::build_runtime()?.block_on(remote.interrupt_turn(&session.id));
    interrupted.map_err(|error| remote::explain_remote_error(&*log, &session, error))?;
    print_note(&format!("session {} was interrupted", session.id));
    Ok(())
}

pub fn run_interrupt_on_server(args: &InterruptArgs, server: &ServerClient) -> Result<(), Failure> {
    let session = server.find_session(&args.session)?;
    if session.state.is_final() {
        return Err(remote::ended_error(&session.id, session.state.name()));
    }
    server.wait(server.server.interrupt_turn(&session.id))?;
    print_note(&format!("session {} was interrupted", session.id));
    Ok(())
}
