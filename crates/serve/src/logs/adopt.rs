//! Continuing a session that only the agent's own log has, for example one started in a terminal.

use std::path::Path;

use switchboard_engine::{AdoptedSession, StartRequest};
use switchboard_event::{Id, Usage};
use switchboard_logs::{LogFilter, LogLibrary, LogSession, LogsError};
use thiserror::Error;

/// Why a session of the logs cannot be continued.
#[derive(Debug, Error)]
pub enum AdoptError {
    #[error(transparent)]
    Logs(#[from] LogsError),
    /// It belongs to another machine.
    #[error("session {session} belongs to the machine {machine}\nhint: continue it there")]
    Elsewhere { session: String, machine: String },
    /// Its agent has deleted the log.
    #[error(
        "session {session} cannot be continued: {agent} has deleted its log\nhint: `switchboard logs show {session}` shows \
         its text"
    )]
    Gone { session: String, agent: String },
    /// It belongs to a subagent.
    #[error("session {session} belongs to a subagent\nhint: continue its parent session, {parent}")]
    Subagent {
        session: String,
        /// The session that started the subagent.
        parent: String,
    },
    /// The request names another agent than the session's.
    #[error("session {session} belongs to {actual}; {requested} cannot continue it")]
    OtherAgent {
        session: String,
        /// The agent of the session.
        actual: String,
        /// The agent in the request.
        requested: String,
    },
    /// Its working directory does not exist.
    #[error("the directory of session {session}, {directory}, does not exist\nhint: choose another directory")]
    NoFolder { session: String, directory: String },
}

/// Finds a session by the agent's own ID or a prefix of it, and makes a request continue it: with its agent and, unless
/// the request has another one, its working directory. A session that Switchboard ran before is resumed as that.
pub fn adopt(library: &LogLibrary, id: &str, request: &mut StartRequest) -> Result<(), AdoptError> {
    let session = find_session(library, id, &request.agent)?;
    adopt_session(library, &session, request)
}

/// Makes a request continue a session of the logs.
pub fn adopt_session(library: &LogLibrary, session: &LogSession, request: &mut StartRequest) -> Result<(), AdoptError> {
    if let Some(own) = &session.own {
        request.resume = Some(own.id.clone());
        return Ok(());
    }
    check_adoptable(session, &request.agent)?;
    request.agent.clone_from(&session.agent);
    if request.config.working_directory.is_none() {
        request.config.working_directory = session_directory(session)?;
    }
    let usage = session_usage(library, session)?;
    request.adopt = Some(AdoptedSession { session: Id::from(session.id.as_str()), usage });
    Ok(())
}

/// Finds a session by ID, preferring the agent in the request. An ambiguous ID is an error.
fn find_session(library: &LogLibrary, id: &str, agent: &str) -> Result<LogSession, LogsError> {
    if !agent.is_empty() {
        match library.find_session_of_agents(id, &[agent.to_owned()]) {
            Err(LogsError::NoSession(_)) => {}
            found => return found,
        }
    }
    library.find_session_of_agents(id, &[])
}

/// Checks that the session's own agent can continue it here.
fn check_adoptable(session: &LogSession, requested: &str) -> Result<(), AdoptError> {
    let (id, agent) = (session.id.clone(), session.agent.clone());
    if let Some(machine) = session.machine.clone() {
        Err(AdoptError::Elsewhere { session: id, machine })
    } else if session.gone {
        Err(AdoptError::Gone { session: id, agent })
    } else if let Some(parent) = session.facts.parent.clone() {
        Err(AdoptError::Subagent { session: id, parent })
    } else if !requested.is_empty() && requested != agent {
        Err(AdoptError::OtherAgent { session: id, actual: agent, requested: requested.to_owned() })
    } else {
        Ok(())
    }
}

/// Returns the directory in which the session was started, where agents look for their sessions.
fn session_directory(session: &LogSession) -> Result<Option<String>, AdoptError> {
    match session.facts.cwd.clone() {
        Some(directory) if !Path::new(&directory).is_dir() => {
            Err(AdoptError::NoFolder { session: session.id.clone(), directory })
        }
        directory => Ok(directory),
    }
}

/// Returns the usage so far; `None` for a copy, since the usage of its original is unknown.
fn session_usage(library: &LogLibrary, session: &LogSession) -> Result<Option<Usage>, LogsError> {
    if session.facts.base.is_some() {
        return Ok(None);
    }
    let ledger = library.usage_ledger(&LogFilter { session: Some(session.id.clone()), ..LogFilter::default() })?;
    let own = ledger.entries.iter().filter(|entry| ledger.resolve_name(entry.subagent).is_empty());
    let sum = own.fold(Usage::default(), |sum, entry| Usage {
        input: sum.input + entry.input,
        output: sum.output + entry.output,
        cache_read: sum.cache_read + entry.cache_read,
        cache_write_5m: sum.cache_write_5m + entry.cache_write,
        cache_write_1h: sum.cache_write_1h + entry.cache_write_1h,
        reasoning: sum.reasoning + entry.reasoning,
        cost_usd: entry.cost_usd.map(|cost| cost + sum.cost_usd.unwrap_or(0.0)).or(sum.cost_usd),
        ..sum
    });
    Ok(Some(sum).filter(|sum| !sum.is_zero()))
}
