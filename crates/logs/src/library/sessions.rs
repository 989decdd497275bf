//! The sessions of all agents.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, PoisonError},
};

use super::{Library, Setup, matching::Matching};
use crate::{
    Candidates, Filter, Home, LogsError, Own, Session,
    index::{
        Index,
        units::{self, Unit, Units},
    },
};

type Key = (String, String, Option<String>);

impl Library {
    /// The sessions, the latest first. Those of subagents are part of the session that they worked for.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, LogsError> {
        let units = self.units()?;
        let matching = Matching::new(filter, &units);
        let mut sessions = self.gathered(&units)?;
        let fitting: HashSet<Key> = units.iter().filter(|unit| matching.session(unit)).map(|unit| key(unit)).collect();
        sessions
            .retain(|session| fitting.contains(&(session.agent.clone(), session.id.clone(), session.machine.clone())));
        sessions.sort_by_key(|session| std::cmp::Reverse((session.facts.updated, session.facts.began)));
        Ok(sessions)
    }

    /// One session, by its id, the beginning of it, Switchboard's id of it, or `last`. Of several agents that have the very
    /// same id, the one that was last at work.
    ///
    /// # Errors
    /// If there is none, or several.
    pub fn session(&self, id: &str) -> Result<Session, LogsError> {
        chosen(self.sessions(&Filter::default())?, id)
    }

    /// The same for who can name the agents that are meant; none for all. Then an id that several of them have means none.
    ///
    /// # Errors
    /// If there is none, or several.
    pub fn session_of(&self, id: &str, agents: &[String]) -> Result<Session, LogsError> {
        let sessions = self.sessions(&Filter { agents: agents.to_vec(), ..Filter::default() })?;
        let same: Vec<&Session> = sessions.iter().filter(|session| session.id == id).collect();
        if same.first().is_some_and(|first| same.iter().any(|other| other.agent != first.agent)) {
            return Err(ambiguous(id, same));
        }
        chosen(sessions, id)
    }

    /// Returns all sessions that an id can mean, the latest first: those with exactly that id, else those whose id begins
    /// with it. Both the agent's id and Switchboard's id of a session count. No agents means all.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn sessions_named(&self, id: &str, agents: &[String]) -> Result<Vec<Session>, LogsError> {
        Ok(named(self.sessions(&Filter { agents: agents.to_vec(), ..Filter::default() })?, id))
    }

    /// Returns the ids of all sessions: the agents' and Switchboard's own.
    ///
    /// # Errors
    /// If the index or Switchboard's log cannot be read.
    pub fn session_ids(&self) -> Result<Vec<String>, LogsError> {
        let mut ids: Vec<String> = self.sessions(&Filter::default())?.into_iter().map(|session| session.id).collect();
        if let Some(own) = &self.setup.own {
            let own = own.log()?.sessions(&switchboard_store::Filter::default())?;
            ids.extend(own.into_iter().map(|session| session.id.to_string()));
        }
        Ok(ids)
    }

    /// The logs that are meant.
    pub(super) fn units(&self) -> Result<Units, LogsError> {
        let all = self.all_units(&self.index())?;
        Ok(self.meant(&all))
    }

    /// All logs that the index knows. They are not read again while nobody writes to it.
    pub(super) fn all_units(&self, index: &Index) -> Result<Arc<Units>, LogsError> {
        let now = index.moment().map_err(|error| index.error(error))?;
        let mut known = self.units.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, units)) = known.as_ref().filter(|(then, _)| *then == now) {
            return Ok(units.clone());
        }
        let units = Arc::new(units::all(&index.connection).map_err(|error| index.error(error))?);
        *known = Some((now, units.clone()));
        Ok(units)
    }

    /// Of all logs, those that are meant. A session of Switchboard's own is read in the log of its agent once there is
    /// one.
    pub(super) fn meant(&self, units: &[Arc<Unit>]) -> Units {
        let Setup { homes, alone, .. } = &*self.setup;
        let of_agents = units.iter().filter(|unit| !unit.is_own() && unit.machine.is_none());
        let of_agents: HashSet<_> = of_agents.map(|unit| (&unit.agent, &unit.session)).collect();
        let is_meant = |unit: &&Arc<Unit>| match unit.is_own() {
            true => !alone && !of_agents.contains(&(&unit.agent, &unit.session)),
            false => (!alone && unit.machine.is_some()) || homes.iter().any(|home| is_in(unit, home)),
        };
        units.iter().filter(is_meant).cloned().collect()
    }

    /// All sessions, of all their logs.
    fn gathered(&self, units: &[Arc<Unit>]) -> Result<Vec<Session>, LogsError> {
        let mut places: HashMap<Key, usize> = HashMap::new();
        let mut sessions: Vec<Session> = Vec::new();
        // A session whose log was given up for another one is in both; the one that is there says more.
        let mut order: Vec<&Unit> = units.iter().map(|unit| &**unit).collect();
        order.sort_by_key(|unit| (unit.parent.is_some(), unit.gone));
        for unit in order {
            let id = unit.parent.as_ref().unwrap_or(&unit.session);
            let place = *places.entry(key(unit)).or_insert(sessions.len());
            match sessions.get_mut(place) {
                Some(session) => add(session, unit),
                None => sessions.push(session(unit, id)),
            }
        }
        self.join(&mut sessions)?;
        Ok(sessions)
    }

    /// What Switchboard knows of those that it ran itself.
    fn join(&self, sessions: &mut [Session]) -> Result<(), LogsError> {
        let Some(ours) = &self.setup.own else { return Ok(()) };
        let own = ours.log()?.sessions(&switchboard_store::Filter::default())?.into_iter().map(|session| {
            let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
            ((session.agent.to_string(), id), Own { id: session.id, state: session.state })
        });
        let own: HashMap<(String, String), Own> = own.collect();
        for session in sessions.iter_mut().filter(|session| session.machine.is_none()) {
            session.own = own.get(&(session.agent.clone(), session.id.clone())).cloned();
        }
        Ok(())
    }
}

/// Of sessions, the latest first, the one that is meant.
fn chosen(mut sessions: Vec<Session>, id: &str) -> Result<Session, LogsError> {
    if id == "last" && !sessions.is_empty() {
        return Ok(sessions.swap_remove(0));
    }
    let mut sessions = named(sessions, id);
    match sessions.len() {
        0 => Err(LogsError::NoSession(id.to_owned())),
        1 => Ok(sessions.swap_remove(0)),
        _ if sessions.first().is_some_and(|first| has_id(first, id)) => Ok(sessions.swap_remove(0)),
        _ => Err(ambiguous(id, &sessions)),
    }
}

fn has_id(session: &Session, id: &str) -> bool {
    session.id == id || session.own.as_ref().is_some_and(|own| &*own.id == id)
}

/// Keeps the sessions that an id can mean: exact matches, else those that begin with it.
fn named(mut sessions: Vec<Session>, id: &str) -> Vec<Session> {
    if sessions.iter().any(|session| has_id(session, id)) {
        sessions.retain(|session| has_id(session, id));
        return sessions;
    }
    let begins = |session: &Session| {
        session.id.starts_with(id) || session.own.as_ref().is_some_and(|own| own.id.starts_with(id))
    };
    sessions.retain(|session| !id.is_empty() && begins(session));
    sessions
}

fn ambiguous<'a>(id: &str, sessions: impl IntoIterator<Item = &'a Session>) -> LogsError {
    let told = sessions.into_iter().map(|session| (session.id.as_str(), session.agent.as_str(), &session.facts));
    LogsError::Ambiguous { given: id.to_owned(), found: Candidates::of(told) }
}

/// The log lies in the home.
fn is_in(unit: &Unit, home: &Home) -> bool {
    unit.agent == home.logs.agent && unit.machine == home.machine && unit.path.starts_with(&home.folder)
}

/// The session that a log is one of.
fn key(unit: &Unit) -> Key {
    (unit.agent.clone(), unit.parent.as_ref().unwrap_or(&unit.session).clone(), unit.machine.clone())
}

/// The log is one of the session.
pub fn belongs(unit: &Unit, session: &Session) -> bool {
    unit.agent == session.agent
        && unit.machine == session.machine
        && *unit.parent.as_ref().unwrap_or(&unit.session) == session.id
}

fn session(unit: &Unit, id: &str) -> Session {
    let is_part = unit.parent.is_some();
    Session {
        id: id.to_owned(),
        agent: unit.agent.clone(),
        machine: unit.machine.clone(),
        facts: unit.facts.clone(),
        files: there(unit),
        gone: unit.gone,
        archived: unit.archived,
        bytes: bytes(unit),
        own: None,
        subagents: if is_part { vec![unit.session.clone()] } else { Vec::new() },
    }
}

fn there(unit: &Unit) -> Vec<PathBuf> {
    if unit.gone { Vec::new() } else { vec![unit.path.clone()] }
}

/// How large a log is that lies in a file of its own.
fn bytes(unit: &Unit) -> Option<u64> {
    unit.part.is_none().then_some(unit.bytes)
}

fn add(session: &mut Session, unit: &Unit) {
    session.bytes = session.bytes.into_iter().chain(bytes(unit)).reduce(|sum, more| sum + more);
    session.files.extend(there(unit));
    if unit.parent.is_some() {
        session.subagents.push(unit.session.clone());
    } else {
        session.gone &= unit.gone;
        session.archived &= unit.archived;
    }
    session.facts.updated = session.facts.updated.max(unit.facts.updated);
}
