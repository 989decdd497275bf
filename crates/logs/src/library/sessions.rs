//! Sessions of all agents.

use std::{
    collections::{HashMap, HashSet},
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use switchboard_event::Timestamp;

use super::{LibraryConfig, LogLibrary};
use crate::index::{LogIndex, LogUnit, LogUnits};
use crate::query::contains_ignore_case;
use crate::{AgentHome, LogFilter, LogSession, LogsError, OwnSession, SessionCandidates, index};

type SessionKey = (String, String, Option<String>);

impl LogLibrary {
    /// Returns the sessions, latest first. Subagents are part of their parent session.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn list_sessions(&self, filter: &LogFilter) -> Result<Vec<LogSession>, LogsError> {
        let units = self.selected_units()?;
        let matching = UnitFilter::new(filter, &units);
        let mut sessions = self.collect_sessions(&units)?;
        let fitting: HashSet<SessionKey> =
            units.iter().filter(|unit| matching.matches_session(unit)).map(|unit| session_key(unit)).collect();
        sessions
            .retain(|session| fitting.contains(&(session.agent.clone(), session.id.clone(), session.machine.clone())));
        sessions.sort_by_key(|session| std::cmp::Reverse((session.facts.updated, session.facts.began)));
        Ok(sessions)
    }

    /// Returns a session by its ID, a prefix of it, Switchboard's ID for it, or `last`. If several agents have the same
    /// ID, returns the most recently active session.
    ///
    /// # Errors
    /// If no session matches, or several do.
    pub fn find_session(&self, id: &str) -> Result<LogSession, LogsError> {
        choose_session(self.list_sessions(&LogFilter::default())?, id)
    }

    /// Like `session`, for the given agents; none means all. An ID that several of them share is ambiguous.
    ///
    /// # Errors
    /// If no session matches, or several do.
    pub fn find_session_of_agents(&self, id: &str, agents: &[String]) -> Result<LogSession, LogsError> {
        let sessions = self.list_sessions(&LogFilter { agents: agents.to_vec(), ..LogFilter::default() })?;
        let same: Vec<&LogSession> = sessions.iter().filter(|session| session.id == id).collect();
        if same.first().is_some_and(|first| same.iter().any(|other| other.agent != first.agent)) {
            return Err(ambiguous_error(id, same));
        }
        choose_session(sessions, id)
    }

    /// Returns all sessions that an ID can mean, latest first: those with exactly that ID, else those whose ID begins
    /// with it. Both the agent's and Switchboard's ID of a session count. No agents means all.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn find_sessions(&self, id: &str, agents: &[String]) -> Result<Vec<LogSession>, LogsError> {
        Ok(matching_sessions(self.list_sessions(&LogFilter { agents: agents.to_vec(), ..LogFilter::default() })?, id))
    }

    /// Returns the IDs of all sessions: the agents' and Switchboard's own.
    ///
    /// # Errors
    /// If the index or Switchboard's log cannot be read.
    pub fn session_ids(&self) -> Result<Vec<String>, LogsError> {
        let mut ids: Vec<String> =
            self.list_sessions(&LogFilter::default())?.into_iter().map(|session| session.id).collect();
        if let Some(own) = &self.setup.own {
            let own = own.open_log()?.list_sessions(&switchboard_store::SessionFilter::default())?;
            ids.extend(own.into_iter().map(|session| session.id.to_string()));
        }
        Ok(ids)
    }

    /// Returns the selected logs.
    pub(super) fn selected_units(&self) -> Result<LogUnits, LogsError> {
        let all = self.all_units(&self.index.lock())?;
        Ok(self.select_units(&all))
    }

    /// Returns all logs in the index, cached until the index changes.
    pub(super) fn all_units(&self, index: &LogIndex) -> Result<Arc<LogUnits>, LogsError> {
        let now = index.current_version().map_err(|error| index.wrap_error(error))?;
        let mut known = self.units.lock();
        if let Some((_, units)) = known.as_ref().filter(|(then, _)| *then == now) {
            return Ok(units.clone());
        }
        let units = Arc::new(index::read_units(&index.connection).map_err(|error| index.wrap_error(error))?);
        *known = Some((now, units.clone()));
        Ok(units)
    }

    /// Selects logs by the configuration. A session of Switchboard's own log is replaced by its agent's log once there
    /// is one.
    pub(super) fn select_units(&self, units: &[Arc<LogUnit>]) -> LogUnits {
        let LibraryConfig { homes, alone, .. } = &*self.setup;
        let of_agents = units.iter().filter(|unit| !unit.is_own() && unit.machine.is_none());
        let of_agents: HashSet<_> = of_agents.map(|unit| (&unit.agent, &unit.session)).collect();
        let is_meant = |unit: &&Arc<LogUnit>| match unit.is_own() {
            true => !alone && !of_agents.contains(&(&unit.agent, &unit.session)),
            false => (!alone && unit.machine.is_some()) || homes.iter().any(|home| is_in_home(unit, home)),
        };
        units.iter().filter(is_meant).cloned().collect()
    }

    /// Merges the logs of each session.
    fn collect_sessions(&self, units: &[Arc<LogUnit>]) -> Result<Vec<LogSession>, LogsError> {
        let mut places: HashMap<SessionKey, usize> = HashMap::new();
        let mut sessions: Vec<LogSession> = Vec::new();
        // A session whose log was replaced by another one is in both; the existing log has more information.
        let mut order: Vec<&LogUnit> = units.iter().map(|unit| &**unit).collect();
        order.sort_by_key(|unit| (unit.parent.is_some(), unit.gone));
        for unit in order {
            let id = unit.parent.as_ref().unwrap_or(&unit.session);
            let place = *places.entry(session_key(unit)).or_insert(sessions.len());
            match sessions.get_mut(place) {
                Some(session) => add_unit(session, unit),
                None => sessions.push(session_from_unit(unit, id)),
            }
        }
        self.attach_own_sessions(&mut sessions)?;
        Ok(sessions)
    }

    /// Adds the details of sessions that Switchboard ran.
    fn attach_own_sessions(&self, sessions: &mut [LogSession]) -> Result<(), LogsError> {
        let Some(ours) = &self.setup.own else { return Ok(()) };
        let own =
            ours.open_log()?.list_sessions(&switchboard_store::SessionFilter::default())?.into_iter().map(|session| {
                let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
                ((session.agent.to_string(), id), OwnSession { id: session.id, state: session.state })
            });
        let own: HashMap<(String, String), OwnSession> = own.collect();
        for session in sessions.iter_mut().filter(|session| session.machine.is_none()) {
            session.own = own.get(&(session.agent.clone(), session.id.clone())).cloned();
        }
        Ok(())
    }
}

/// Chooses the session that an ID means. `sessions` is sorted latest first.
fn choose_session(mut sessions: Vec<LogSession>, id: &str) -> Result<LogSession, LogsError> {
    if id == "last" && !sessions.is_empty() {
        return Ok(sessions.swap_remove(0));
    }
    let mut sessions = matching_sessions(sessions, id);
    match sessions.len() {
        0 => Err(LogsError::NoSession(id.to_owned())),
        1 => Ok(sessions.swap_remove(0)),
        _ if sessions.first().is_some_and(|first| has_id(first, id)) => Ok(sessions.swap_remove(0)),
        _ => Err(ambiguous_error(id, &sessions)),
    }
}

fn has_id(session: &LogSession, id: &str) -> bool {
    session.id == id || session.own.as_ref().is_some_and(|own| &*own.id == id)
}

/// Keeps the sessions that an ID can mean: exact matches, else those that begin with it.
fn matching_sessions(mut sessions: Vec<LogSession>, id: &str) -> Vec<LogSession> {
    if sessions.iter().any(|session| has_id(session, id)) {
        sessions.retain(|session| has_id(session, id));
        return sessions;
    }
    let begins = |session: &LogSession| {
        session.id.starts_with(id) || session.own.as_ref().is_some_and(|own| own.id.starts_with(id))
    };
    sessions.retain(|session| !id.is_empty() && begins(session));
    sessions
}

fn ambiguous_error<'a>(id: &str, sessions: impl IntoIterator<Item = &'a LogSession>) -> LogsError {
    let told = sessions.into_iter().map(|session| (session.id.as_str(), session.agent.as_str(), &session.facts));
    LogsError::Ambiguous { given: id.to_owned(), found: SessionCandidates::from_sessions(told) }
}

fn is_in_home(unit: &LogUnit, home: &AgentHome) -> bool {
    unit.agent == home.logs.agent && unit.machine == home.machine && unit.path.starts_with(&home.folder)
}

/// Returns the session that a log belongs to.
fn session_key(unit: &LogUnit) -> SessionKey {
    (unit.agent.clone(), unit.parent.as_ref().unwrap_or(&unit.session).clone(), unit.machine.clone())
}

/// Returns whether the log belongs to the session.
pub fn belongs_to_session(unit: &LogUnit, session: &LogSession) -> bool {
    unit.agent == session.agent
        && unit.machine == session.machine
        && *unit.parent.as_ref().unwrap_or(&unit.session) == session.id
}

fn session_from_unit(unit: &LogUnit, id: &str) -> LogSession {
    let is_part = unit.parent.is_some();
    LogSession {
        id: id.to_owned(),
        agent: unit.agent.clone(),
        machine: unit.machine.clone(),
        facts: unit.facts.clone(),
        files: existing_files(unit),
        gone: unit.gone,
        archived: unit.archived,
        bytes: file_bytes(unit),
        own: None,
        subagents: if is_part { vec![unit.session.clone()] } else { Vec::new() },
    }
}

fn existing_files(unit: &LogUnit) -> Vec<PathBuf> {
    if unit.gone { Vec::new() } else { vec![unit.path.clone()] }
}

/// Returns the size of a log that has a file of its own.
fn file_bytes(unit: &LogUnit) -> Option<u64> {
    unit.part.is_none().then_some(unit.bytes)
}

fn add_unit(session: &mut LogSession, unit: &LogUnit) {
    session.bytes = session.bytes.into_iter().chain(file_bytes(unit)).reduce(|sum, more| sum + more);
    session.files.extend(existing_files(unit));
    if unit.parent.is_some() {
        session.subagents.push(unit.session.clone());
    } else {
        session.gone &= unit.gone;
        session.archived &= unit.archived;
    }
    session.facts.updated = session.facts.updated.max(unit.facts.updated);
}

/// A filter resolved against the known logs.
pub struct UnitFilter {
    /// Logs that can match; the models and directories of replies are checked individually.
    units: HashSet<i64, foldhash::fast::FixedState>,
    project: Option<String>,
    model: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl UnitFilter {
    pub fn new(filter: &LogFilter, units: &[Arc<LogUnit>]) -> Self {
        let fits = |unit: &&Arc<LogUnit>| {
            filter.has_agent(&unit.agent)
                && filter.has_machine(unit.machine.as_deref())
                && contains_ignore_case(filter.branch.as_deref(), unit.facts.branch.as_deref())
                && filter.session.as_deref().is_none_or(|id| unit.session == id || unit.parent.as_deref() == Some(id))
        };
        Self {
            units: units.iter().filter(fits).map(|unit| unit.id).collect(),
            project: filter.project.as_deref().map(str::to_lowercase),
            model: filter.model.as_deref().map(str::to_lowercase),
            since: filter.since,
            until: filter.until,
        }
    }

    /// Returns whether the log can contain matches.
    pub fn matches_unit(&self, id: i64) -> bool {
        self.units.contains(&id)
    }

    /// Returns whether the working directory matches.
    pub fn matches_project(&self, path: &str) -> bool {
        contains_ignore_case(self.project.as_deref(), Some(path))
    }

    /// Returns whether the model matches.
    pub fn matches_model(&self, model: &str) -> bool {
        contains_ignore_case(self.model.as_deref(), Some(model))
    }

    /// Returns whether the time matches.
    pub fn matches_time(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    /// Returns whether a session matches, with any of its activity in the time range.
    fn matches_session(&self, unit: &LogUnit) -> bool {
        let facts = &unit.facts;
        self.matches_unit(unit.id)
            && self.matches_project(facts.cwd.as_deref().unwrap_or_default())
            && self.matches_model(facts.model.as_deref().unwrap_or_default())
            && self.since.is_none_or(|since| facts.updated.or(facts.began).is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| facts.began.or(facts.updated).is_some_and(|at| at < until))
    }
}

impl LogLibrary {
    /// Returns when the logs of a session and its subagents were last written. Returns `None` if they are deleted.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn last_written(&self, session: &LogSession) -> Result<Option<Timestamp>, LogsError> {
        let units = self.selected_units()?;
        let there = units.iter().filter(|unit| belongs_to_session(unit, session) && !unit.gone);
        Ok(there.filter_map(|unit| unit_last_written(unit)).max())
    }
}

/// A file has a modification time. A database is written for all its sessions, so only the last record tells.
fn unit_last_written(unit: &LogUnit) -> Option<Timestamp> {
    if unit.part.is_some() { unit.facts.updated } else { modified_at(&unit.path) }
}

fn modified_at(path: &Path) -> Option<Timestamp> {
    let file = fs::metadata(path).ok()?;
    Timestamp::from_micros(file.mtime() * 1_000_000 + file.mtime_nsec() / 1_000)
}
