//! Resolves the most recently written session. File times narrow the choice, so that few files have to be read.

use std::cmp::Reverse;

use switchboard_agents::{LogFormat, SessionFacts};
use switchboard_event::Timestamp;
use switchboard_store::{SessionFilter, SessionPhase, SessionRecord};

use super::{
    followed::session_change_times,
    ground::{self, LiveLogFile},
    tail::LogTail,
    watcher::LogWatcher,
};
use crate::LogsError;

/// The argument that means the latest session.
const LAST_SESSION_KEYWORD: &str = "last";

/// Files written within this time may have been copied together: their records decide which is the latest.
const COPY_WINDOW_MS: u64 = 60_000;

/// A session that may be the latest.
enum LastSessionCandidate {
    /// A log, with its session if it is a database.
    Log(Box<LiveLogFile>, Option<String>),
    /// A session that Switchboard runs.
    Own(String),
}

impl LogWatcher {
    /// Resolves `last` to a session ID.
    pub(super) fn resolve_last_session(&mut self) -> Result<(), LogsError> {
        if self.setup.only.as_deref() != Some(LAST_SESSION_KEYWORD) {
            return Ok(());
        }
        let mut candidates = self.list_candidates();
        candidates.sort_by_key(|(written, _)| Reverse(*written));
        let named =
            self.latest_candidate(candidates).ok_or_else(|| LogsError::NoSession(LAST_SESSION_KEYWORD.to_owned()))?;
        self.setup.only = Some(named);
        Ok(())
    }

    /// Returns the latest candidate. They are sorted by write time, newest first.
    fn latest_candidate(&self, candidates: Vec<(Timestamp, LastSessionCandidate)>) -> Option<String> {
        let (mut newest, mut last) = (None, None);
        for (written, candidate) in candidates {
            if newest.is_some_and(|newest: Timestamp| newest.millis_since(written) > COPY_WINDOW_MS) {
                break;
            }
            if let Some((updated, id)) = self.candidate_session(candidate, written) {
                newest.get_or_insert(written);
                last = last.max(Some((updated, id)));
            }
        }
        last.map(|(_, id)| id)
    }

    fn list_candidates(&mut self) -> Vec<(Timestamp, LastSessionCandidate)> {
        let mut found = Vec::new();
        ground::find_log_files(&self.setup.homes, &mut self.ears, &mut |log| found.push(log));
        found.into_iter().flat_map(file_candidates).chain(self.open_own_sessions()).collect()
    }

    fn open_own_sessions(&self) -> Vec<(Timestamp, LastSessionCandidate)> {
        let filter = SessionFilter { states: SessionPhase::OPEN.to_vec(), ..SessionFilter::default() };
        // Sessions that cannot be read now are not candidates.
        let open = self.setup.own.iter().flat_map(|ours| ours.log.list_sessions(&filter).unwrap_or_default());
        let is_wanted = |session: &SessionRecord| {
            let facts = SessionFacts { cwd: Some(session.cwd.clone()), ..SessionFacts::default() };
            self.setup.wanted.matches_session(&session.agent, None, &facts)
        };
        let candidate = |session: SessionRecord| {
            let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
            (session.updated, LastSessionCandidate::Own(id))
        };
        open.filter(is_wanted).map(candidate).collect()
    }

    /// Returns the time and ID of a candidate, if the filter includes it.
    fn candidate_session(&self, candidate: LastSessionCandidate, written: Timestamp) -> Option<(Timestamp, String)> {
        let (log, part) = match candidate {
            LastSessionCandidate::Own(id) => return Some((written, id)),
            LastSessionCandidate::Log(log, part) => (log, part),
        };
        let home = self.setup.homes.get(log.home)?;
        let mut tail = LogTail::new(home.logs, log.file, &log.path, part.as_deref());
        tail.read((self.setup.now)(), &mut Vec::new()).ok()?;
        let fits =
            self.setup.wanted.matches_session(home.logs.agent, home.machine.as_deref(), &tail.tail_state().facts);
        fits.then(|| (tail.tail_state().facts.updated.unwrap_or(written), tail.session_id()))
    }
}

/// A file is one log, a database has many.
fn file_candidates(found: LiveLogFile) -> Vec<(Timestamp, LastSessionCandidate)> {
    let LogFormat::Database(queries) = found.file.form else {
        return vec![(found.written, LastSessionCandidate::Log(Box::new(found), None))];
    };
    let sessions = session_change_times(&found.path, queries).unwrap_or_default().into_iter();
    sessions.map(|(id, at)| (at, LastSessionCandidate::Log(Box::new(found.clone()), Some(id)))).collect()
}
