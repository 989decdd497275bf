//! The session that somebody means, and a clear word where that is none or several.

use switchboard_event::Timestamp;
use switchboard_store::{Filter, Log, Session, StoreError};

use super::row::Row;
use crate::{failure::Failure, host};

/// The session that is meant by an id, the beginning of one, `last`, or N.
pub fn find(log: &dyn Log, what: &str) -> Result<Session, Failure> {
    log.find(what, &Filter::default()).map_err(|error| match error {
        StoreError::NoSession(what) => Failure::NoSession(what),
        StoreError::Ambiguous { what, matches } => {
            let sessions = matches.iter().filter_map(|id| log.session(id).ok().flatten());
            let known = sessions.map(|session| one_line(&session, host::now())).collect::<Vec<_>>().join("\n");
            Failure::SeveralSessions { what, known }
        }
        other => other.into(),
    })
}

/// The same for many, each once.
pub fn find_all(log: &dyn Log, all: &[String]) -> Result<Vec<Session>, Failure> {
    let mut found: Vec<Session> = Vec::new();
    for what in all {
        let session = find(log, what)?;
        if !found.iter().any(|known| known.number == session.number) {
            found.push(session);
        }
    }
    Ok(found)
}

/// A session in a line of its own, with its whole id.
pub fn one_line(session: &Session, now: Timestamp) -> String {
    let row = Row::of(session, now);
    format!("  {}  {}  {}  {}", session.id, row.agent, row.state.word(), row.task(60))
}
