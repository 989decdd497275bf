//! Finding a session by what the user typed, with a clear error if none or several match.

use switchboard_event::Timestamp;
use switchboard_store::{SessionFilter, SessionLog, SessionRecord, StoreError};

use super::row::Row;
use crate::{failure::Failure, host};

/// The session that is meant by an id, the beginning of one, `last`, or N.
pub fn find(log: &dyn SessionLog, what: &str) -> Result<SessionRecord, Failure> {
    log.resolve_session(what, &SessionFilter::default()).map_err(|error| match error {
        StoreError::NoSession(what) => Failure::NoSession(what),
        StoreError::Ambiguous { what, matches } => {
            let sessions = matches.iter().filter_map(|id| log.get_session(id).ok().flatten());
            let known = sessions.map(|session| one_line(&session, host::now())).collect::<Vec<_>>().join("\n");
            Failure::SeveralSessions { what, known }
        }
        other => other.into(),
    })
}

/// The same for many, each once.
pub fn find_all(log: &dyn SessionLog, all: &[String]) -> Result<Vec<SessionRecord>, Failure> {
    let mut found: Vec<SessionRecord> = Vec::new();
    for what in all {
        let session = find(log, what)?;
        if !found.iter().any(|known| known.number == session.number) {
            found.push(session);
        }
    }
    Ok(found)
}

/// A session in a line of its own, with its whole id.
pub fn one_line(session: &SessionRecord, now: Timestamp) -> String {
    let row = Row::of(session, now);
    format!("  {}  {}  {}  {}", session.id, row.agent, row.state.word(), row.task(60))
}
