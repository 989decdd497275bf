//! Going on with a session that only its agent has: somebody began it in a terminal, long ago perhaps.

use std::path::Path;

use switchboard_engine::{AdoptedSession, StartRequest};
use switchboard_event::{Id, Usage};
use switchboard_logs::{LogFilter, LogLibrary, LogSession, LogsError};
use thiserror::Error;

/// Why a session of the logs cannot go on.
#[derive(Debug, Error)]
pub enum AdoptError {
    /// There is none, or several, or the logs cannot be read.
    #[error(transparent)]
    Logs(#[from] LogsError),
    /// Another machine has it.
    #[error("session {session} is of the machine {machine}\nhint: continue it there")]
    Elsewhere {
        /// The session.
        session: String,
        /// The machine.
        machine: String,
    },
    /// Its agent has it no longer.
    #[error(
        "session {session} cannot be continued: {agent} has deleted its log\nhint: `switchboard logs show {session}` shows \
         what was said"
    )]
    Gone {
        /// The session.
        session: String,
        /// The agent.
        agent: String,
    },
    /// A subagent cannot go on alone.
    #[error("session {session} is of a subagent\nhint: continue the session that it worked for, {parent}")]
    Subagent {
        /// The session.
        session: String,
        /// The one that it worked for.
        parent: String,
    },
    /// It is of another agent than the one that was named.
    #[error("session {session} is of {its}, and {named} cannot continue it")]
    OtherAgent {
        /// The session.
        session: String,
        /// Its agent.
        its: String,
        /// The agent that was named.
        named: String,
    },
    /// The folder that it worked in is gone.
    #[error("session {session} worked in {folder}, which is not there any more\nhint: name another folder")]
    NoFolder {
        /// The session.
        session: String,
        /// The folder.
        folder: String,
    },
}

/// Finds a session by the agent's own id of it, or the beginning of that, and puts it into a request that is to continue
/// it: its agent, and the folder that it began in unless another is named. One that we ran before goes on as that.
///
/// # Errors
/// If there is no such session, or it cannot go on here.
pub fn adopt(library: &LogLibrary, id: &str, request: &mut StartRequest) -> Result<(), AdoptError> {
    let session = named(library, id, &request.agent)?;
    adopt_session(library, &session, request)
}

/// Puts a session of the logs into a request that is to continue it.
///
/// # Errors
/// If it cannot go on here.
pub fn adopt_session(library: &LogLibrary, session: &LogSession, request: &mut StartRequest) -> Result<(), AdoptError> {
    if let Some(own) = &session.own {
        request.resume = Some(own.id.clone());
        return Ok(());
    }
    check(session, &request.agent)?;
    request.agent.clone_from(&session.agent);
    if request.config.working_directory.is_none() {
        request.config.working_directory = folder(session)?;
    }
    let used = used(library, session)?;
    request.adopt = Some(AdoptedSession { session: Id::from(session.id.as_str()), usage: used });
    Ok(())
}

/// Returns the session of that id: of the agent that was named, if that has one. Several are never told apart by a guess.
fn named(library: &LogLibrary, id: &str, agent: &str) -> Result<LogSession, LogsError> {
    if !agent.is_empty() {
        match library.find_session_of_agents(id, &[agent.to_owned()]) {
            Err(LogsError::NoSession(_)) => {}
            found => return found,
        }
    }
    library.find_session_of_agents(id, &[])
}

/// Only its own agent can go on with it, where it has kept it.
fn check(session: &LogSession, named: &str) -> Result<(), AdoptError> {
    let (id, its) = (session.id.clone(), session.agent.clone());
    if let Some(machine) = session.machine.clone() {
        Err(AdoptError::Elsewhere { session: id, machine })
    } else if session.gone {
        Err(AdoptError::Gone { session: id, agent: its })
    } else if let Some(parent) = session.facts.parent.clone() {
        Err(AdoptError::Subagent { session: id, parent })
    } else if !named.is_empty() && named != its {
        Err(AdoptError::OtherAgent { session: id, its, named: named.to_owned() })
    } else {
        Ok(())
    }
}

/// The folder that it began in: agents look for their sessions there.
fn folder(session: &LogSession) -> Result<Option<String>, AdoptError> {
    match session.facts.cwd.clone() {
        Some(folder) if !Path::new(&folder).is_dir() => {
            Err(AdoptError::NoFolder { session: session.id.clone(), folder })
        }
        folder => Ok(folder),
    }
}

/// What it has used so far. A copy began with what another had used, which nobody has written down.
fn used(library: &LogLibrary, session: &LogSession) -> Result<Option<Usage>, LogsError> {
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
