//! Which logs a watcher follows, and reading them.

use std::path::PathBuf;

use switchboard_agents::{Form, LogFile};
use switchboard_event::{Event, Timestamp};

use super::{
    followed::{Base, Followed, Key},
    ground::Found,
    tail::Tail,
    watcher::{Change, Watcher},
};
use crate::{Candidates, LogsError};

/// A log that does not grow.
pub struct Asleep {
    home: usize,
    file: LogFile,
    path: PathBuf,
}

/// Whether a log that was found grows.
#[derive(Clone, Copy, PartialEq)]
pub enum Growth {
    /// It was written long ago.
    None,
    /// Its file is new, or was written a short time ago: it grows, or it is a copy.
    Recent,
    /// It was there, and was then written to.
    Seen,
}

impl Watcher {
    /// A log was found: it grows, or it does not.
    pub(super) fn note(&mut self, log: Found, growth: Growth) {
        let Found { home, file, path, written } = log;
        if let Form::Database(queries) = file.form {
            self.bases.entry(path).or_insert_with(|| Base::new(home, file, queries)).due = true;
            return;
        }
        if let Some(known) = self.logs.get_mut(&Key::file(&path)) {
            known.is_due();
            return;
        }
        let asleep = Asleep { home, file, path };
        if self.is_wanted(&asleep, growth != Growth::None) {
            self.wake(&asleep, written, growth == Growth::Seen);
        } else if let Some(session) = asleep.file.session.clone().filter(|_| asleep.file.parent.is_none()) {
            self.asleep.insert(session, asleep);
        }
    }

    /// It grows, or may be of the only session that is watched.
    fn is_wanted(&self, log: &Asleep, grows: bool) -> bool {
        let Some(only) = &self.setup.only else { return grows };
        let names: Vec<_> = [&log.file.session, &log.file.parent].into_iter().flatten().collect();
        let may_be = |name: &&String| name.starts_with(only.as_str()) || only.starts_with(name.as_str());
        if names.is_empty() { grows } else { names.iter().any(may_be) }
    }

    fn wake(&mut self, log: &Asleep, written: Timestamp, grows: bool) {
        let Some(home) = self.setup.homes.get(log.home) else { return };
        let tail = Tail::new(home.logs, log.file.clone(), &log.path, None);
        self.logs.insert(Key::file(&log.path), Followed::new(tail, home.machine.clone(), written, grows));
        if let Some(session) = &log.file.session {
            self.asleep.remove(session);
        }
    }

    /// Reads what is due.
    pub(super) fn read_logs(&mut self) -> Vec<Change> {
        self.read_bases();
        let now = (self.setup.now)();
        let (mut changes, mut parents) = (Vec::new(), Vec::new());
        for log in self.logs.values_mut() {
            let mut events = Vec::new();
            if log.read(now, &mut events) {
                parents.extend(log.tail.parent().map(str::to_owned));
                let (id, agent) = (log.tail.session(), log.tail.agent().to_owned());
                let events = if self.setup.only.is_some() { events } else { Vec::new() };
                changes.push(Change { id, agent, events });
            }
        }
        // Who waits for a subagent writes nothing.
        let waiting: Vec<_> = parents.iter().filter_map(|parent| self.asleep.remove(parent)).collect();
        if !waiting.is_empty() {
            waiting.iter().for_each(|log| self.wake(log, now, true));
            changes.extend(self.read_logs());
        }
        if let Some(only) = self.setup.only.clone().filter(|_| self.is_found) {
            // Those of a database are kept: whose they are is only known when they were read.
            let is_its = |agent: &str| self.setup.wanted.has_agent(agent);
            self.logs.retain(|_, log| log.tail.is_part() || log.tail.session() == only && is_its(log.tail.agent()));
            changes.retain(|change| change.id == only && is_its(&change.agent));
        }
        changes
    }

    fn read_bases(&mut self) {
        let (now, within) = ((self.setup.now)(), self.setup.within);
        for (path, base) in self.bases.iter_mut().filter(|(_, base)| base.due) {
            let Some(home) = self.setup.homes.get(base.home) else { continue };
            // A database that cannot be read now is looked at when it changes again.
            let mut changed = base.changed(path, now, within).unwrap_or_default();
            changed.extend(self.setup.only.iter().flat_map(|only| base.named(only).cloned().collect::<Vec<_>>()));
            for session in changed {
                let new = || {
                    let tail = Tail::new(home.logs, base.file.clone(), path, Some(&session));
                    Followed::new(tail, home.machine.clone(), now, false)
                };
                self.logs.entry(Key::part(path, &session)).or_insert_with(new).is_due();
            }
        }
    }

    /// What has not grown for long is asleep, and no longer followed.
    pub(super) fn let_sleep(&mut self) -> Vec<Change> {
        if self.setup.only.is_some() {
            return Vec::new();
        }
        let (now, within) = ((self.setup.now)(), self.setup.within);
        let runs: Vec<_> = self.own.iter().flat_map(|own| own.agent_sessions()).collect();
        let is_over = |log: &Followed| {
            let session = log.tail.session();
            u128::from(now.millis_since(log.updated)) > within.as_millis() && !runs.contains(&session)
        };
        let parents: Vec<_> = self.logs.values().filter(|log| !is_over(log)).map(|log| log.tail.session()).collect();
        let mut changes = Vec::new();
        self.logs.retain(|_, log| {
            let goes = is_over(log) && !parents.contains(&log.tail.session());
            if goes {
                let (id, agent) = (log.tail.session(), log.tail.agent().to_owned());
                changes.push(Change { id, agent, events: Vec::new() });
            }
            !goes
        });
        changes
    }

    /// Of what could be the only session, the one that is. Nothing else is followed.
    pub(super) fn find_only(&mut self) -> Result<(), LogsError> {
        let Some(only) = self.setup.only.clone() else { return Ok(()) };
        let mut found = self.running();
        found.sort_by(|a, b| (&a.id, &a.agent).cmp(&(&b.id, &b.agent)));
        found.dedup_by(|a, b| (&a.id, &a.agent) == (&b.id, &b.agent));
        if found.iter().any(|session| session.id == only) {
            found.retain(|session| session.id == only);
        }
        match found.as_slice() {
            [] => return Err(LogsError::NoSession(only)),
            [one] => (self.setup.only, self.setup.wanted.agents) = (Some(one.id.clone()), vec![one.agent.clone()]),
            _ => {
                let told = found.iter().map(|session| (session.id.as_str(), session.agent.as_str(), &session.facts));
                return Err(LogsError::Ambiguous { given: only, found: Candidates::of(told) });
            }
        }
        self.is_found = true;
        Ok(())
    }

    /// Events of the only session come from its log, if it has one.
    pub(super) fn has_log(&self, id: &str) -> bool {
        self.logs.values().any(|log| log.tail.session() == id)
    }

    /// What was read when it was found.
    pub(super) fn keep_first(&mut self, changes: Vec<Change>) {
        let (only, wanted) = (self.setup.only.clone(), &self.setup.wanted);
        let events: Vec<Event> = changes
            .into_iter()
            .filter(|change| Some(&change.id) == only.as_ref() && wanted.has_agent(&change.agent))
            .flat_map(|change| change.events)
            .collect();
        self.first = events;
    }
}
