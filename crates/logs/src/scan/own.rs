//! Switchboard's own sessions, for agents without logs. A session that has an agent log is read there.

use std::{collections::HashSet, io, path::PathBuf, sync::Arc};

use switchboard_agents::{LogFile, LogFormat, find_agent};
use switchboard_store::{PageQuery, SessionFilter, SessionLog, StoreError};

use super::DiscoveredLog;
use crate::index::units::LogUnit;

/// Events read per page.
const SCAN_PAGE: PageQuery = PageQuery { after: 0, limit: 10_000, max_bytes: 8 << 20, kinds: &[] };

#[derive(Clone)]
pub struct OwnLogSource {
    pub log: Arc<dyn SessionLog>,
    pub path: PathBuf,
}

impl OwnLogSource {
    /// Returns the sessions without an agent log, and the units of deleted sessions.
    pub fn discover_sessions(
        &self,
        seen: &[DiscoveredLog],
        units: &[Arc<LogUnit>],
    ) -> Result<(Vec<DiscoveredLog>, Vec<i64>), StoreError> {
        let of_agents = seen.iter().map(|seen| (seen.agent.to_owned(), seen.session_id()));
        let known = units.iter().filter(|unit| !unit.is_own()).map(|unit| (unit.agent.clone(), unit.session.clone()));
        let elsewhere: HashSet<_> = of_agents.chain(known).collect();
        let sessions = self.log.list_sessions(&SessionFilter::default())?;
        let there: HashSet<String> = sessions.iter().map(|session| session.id.to_string()).collect();
        let deleted =
            units.iter().filter(|unit| unit.is_own() && unit.part.as_ref().is_none_or(|id| !there.contains(id)));
        let deleted = deleted.map(|unit| unit.id).collect();
        let own = sessions.into_iter().filter_map(|session| {
            let agent = find_agent(&session.agent)?.name;
            let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
            (session.head > 0 && !elsewhere.contains(&(agent.to_owned(), id.clone()))).then(|| DiscoveredLog {
                name: LogUnit::own_unit_name(agent, &session.id),
                agent,
                machine: None,
                path: self.path.clone(),
                part: Some(session.id.to_string()),
                file: LogFile { form: LogFormat::Events, ..LogFile::line_log(Some(id)) },
                bytes: 0,
                inode: 0,
                seen: session.head.to_string(),
            })
        });
        Ok((own.collect(), deleted))
    }

    /// Reads the stored events of a session.
    pub fn read_records(&self, session: &str, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
        let mut after = 0;
        loop {
            let (rows, _) =
                self.log.read_sound_rows(session, PageQuery { after, ..SCAN_PAGE }).map_err(io::Error::other)?;
            let Some(last) = rows.last() else { return Ok(after) };
            after = last.seq;
            rows.iter().for_each(|row| each(row.seq, row.json.as_bytes()));
        }
    }
}
