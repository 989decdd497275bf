//! Switchboard's own sessions, beside the logs of agents: for agents that leave none. A session that an agent has in a log
//! of its own is read there.

use std::{collections::HashSet, io, path::PathBuf, sync::Arc};

use switchboard_agents::{Form, LogFile, agent};
use switchboard_store::{Filter, Log, Page, StoreError};

use super::Seen;
use crate::index::units::Unit;

/// So much is read at once.
const PAGE: Page = Page { after: 0, limit: 10_000, max_bytes: 8 << 20 };

/// Switchboard's own log.
#[derive(Clone)]
pub struct Own {
    /// The log.
    pub log: Arc<dyn Log>,
    /// Where it lies.
    pub path: PathBuf,
}

impl Own {
    /// The sessions that no agent has a log of, and the units of sessions that were deleted.
    pub fn seen(&self, seen: &[Seen], units: &[Arc<Unit>]) -> Result<(Vec<Seen>, Vec<i64>), StoreError> {
        let of_agents = seen.iter().map(|seen| (seen.agent.to_owned(), seen.session()));
        let known = units.iter().filter(|unit| !unit.is_own()).map(|unit| (unit.agent.clone(), unit.session.clone()));
        let elsewhere: HashSet<_> = of_agents.chain(known).collect();
        let sessions = self.log.sessions(&Filter::default())?;
        let there: HashSet<String> = sessions.iter().map(|session| session.id.to_string()).collect();
        let deleted =
            units.iter().filter(|unit| unit.is_own() && unit.part.as_ref().is_none_or(|id| !there.contains(id)));
        let deleted = deleted.map(|unit| unit.id).collect();
        let own = sessions.into_iter().filter_map(|session| {
            let agent = agent(&session.agent)?.name;
            let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
            (session.head > 0 && !elsewhere.contains(&(agent.to_owned(), id.clone()))).then(|| Seen {
                name: Unit::own_name(agent, &session.id),
                agent,
                machine: None,
                path: self.path.clone(),
                part: Some(session.id.to_string()),
                file: LogFile { form: Form::Events, ..LogFile::lines(Some(id)) },
                bytes: 0,
                inode: 0,
                seen: session.head.to_string(),
            })
        });
        Ok((own.collect(), deleted))
    }

    /// Gives the events of a session, as they lie there.
    pub fn records(&self, session: &str, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
        let mut after = 0;
        loop {
            let (rows, _) = self.log.sound_rows(session, Page { after, ..PAGE }).map_err(io::Error::other)?;
            let Some(last) = rows.last() else { return Ok(after) };
            after = last.seq;
            rows.iter().for_each(|row| each(row.seq, row.json.as_bytes()));
        }
    }
}
