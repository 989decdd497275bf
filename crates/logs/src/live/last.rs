//! Which session was written last. The times of the files say so, so that few of them have to be read.

use std::cmp::Reverse;

use switchboard_agents::{Facts, Form};
use switchboard_event::Timestamp;
use switchboard_store::{Filter as Stored, Session, State};

use super::{
    followed::changes_of,
    ground::{self, Found},
    tail::Tail,
    watcher::Watcher,
};
use crate::LogsError;

/// What people call it.
const LAST: &str = "last";

/// Files that were written so soon after each other may have been copied: their records say which is the last.
const TOGETHER_MS: u64 = 60_000;

/// A session that could be the last.
enum Candidate {
    /// A log of it.
    Log(Box<Found>, Option<String>),
    /// One that Switchboard runs.
    Own(String),
}

impl Watcher {
    /// If the last session is to be watched, finds out which that is.
    pub(super) fn name_last(&mut self) -> Result<(), LogsError> {
        if self.setup.only.as_deref() != Some(LAST) {
            return Ok(());
        }
        let mut candidates = self.candidates();
        candidates.sort_by_key(|(written, _)| Reverse(*written));
        let named = self.last_of(candidates).ok_or_else(|| LogsError::NoSession(LAST.to_owned()))?;
        self.setup.only = Some(named);
        Ok(())
    }

    /// The last of candidates, the latest of which come first.
    fn last_of(&self, candidates: Vec<(Timestamp, Candidate)>) -> Option<String> {
        let (mut newest, mut last) = (None, None);
        for (written, candidate) in candidates {
            if newest.is_some_and(|newest: Timestamp| newest.millis_since(written) > TOGETHER_MS) {
                break;
            }
            if let Some((updated, id)) = self.session_of(candidate, written) {
                newest.get_or_insert(written);
                last = last.max(Some((updated, id)));
            }
        }
        last.map(|(_, id)| id)
    }

    fn candidates(&mut self) -> Vec<(Timestamp, Candidate)> {
        let mut found = Vec::new();
        ground::look(&self.setup.homes, &mut self.ears, &mut |log| found.push(log));
        found.into_iter().flat_map(logs).chain(self.open_sessions()).collect()
    }

    fn open_sessions(&self) -> Vec<(Timestamp, Candidate)> {
        let filter = Stored { states: State::OPEN.to_vec(), ..Stored::default() };
        // What cannot be read now is not the last.
        let open = self.setup.own.iter().flat_map(|ours| ours.log.sessions(&filter).unwrap_or_default());
        let is_wanted = |session: &Session| {
            let facts = Facts { cwd: Some(session.cwd.clone()), ..Facts::default() };
            self.setup.wanted.fits(&session.agent, None, &facts)
        };
        let candidate = |session: Session| {
            let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
            (session.updated, Candidate::Own(id))
        };
        open.filter(is_wanted).map(candidate).collect()
    }

    /// The session and its last time, if it is one that is wanted.
    fn session_of(&self, candidate: Candidate, written: Timestamp) -> Option<(Timestamp, String)> {
        let (log, part) = match candidate {
            Candidate::Own(id) => return Some((written, id)),
            Candidate::Log(log, part) => (log, part),
        };
        let home = self.setup.homes.get(log.home)?;
        let mut tail = Tail::new(home.logs, log.file, &log.path, part.as_deref());
        tail.read((self.setup.now)(), &mut Vec::new()).ok()?;
        let fits = self.setup.wanted.fits(home.logs.agent, home.machine.as_deref(), &tail.known().facts);
        fits.then(|| (tail.known().facts.updated.unwrap_or(written), tail.session()))
    }
}

/// A file is one log, a database has many.
fn logs(found: Found) -> Vec<(Timestamp, Candidate)> {
    let Form::Database(queries) = found.file.form else {
        return vec![(found.written, Candidate::Log(Box::new(found), None))];
    };
    let sessions = changes_of(&found.path, queries).unwrap_or_default().into_iter();
    sessions.map(|(id, at)| (at, Candidate::Log(Box::new(found.clone()), Some(id)))).collect()
}
