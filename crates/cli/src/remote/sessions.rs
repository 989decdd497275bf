//! The sessions of a server: lists, and the one that a user means.

use switchboard_client::{Activity, AgentErrorKind, SessionLifecycle, SessionQuery, SessionView};
use switchboard_event::{Decider, SessionEnded};
use switchboard_store::{SessionPhase, SessionRecord};

use super::{ServerClient, server_failure};
use crate::{failure::Failure, host, sessions::summary_line};

/// The largest page of a server.
const MAX_PAGE_SESSIONS: u32 = 500;

/// The longest position in a list that is not the beginning of an ID.
const MAX_POSITION_DIGITS: usize = 4;

impl ServerClient {
    /// Lists sessions, newest first, up to a limit.
    pub fn list_sessions(
        &self,
        query: &SessionQuery,
        limit: usize,
        is_wanted: impl Fn(&SessionView) -> bool,
    ) -> Result<Vec<SessionView>, Failure> {
        let mut query = query.clone();
        let mut found = Vec::new();
        loop {
            let missing = u32::try_from(limit - found.len()).unwrap_or(u32::MAX);
            query.limit = Some(missing.clamp(1, MAX_PAGE_SESSIONS));
            let page = self.wait(self.server.list_sessions(&query))?;
            found.extend(page.sessions.into_iter().filter(&is_wanted));
            query.before = page.next;
            if found.len() >= limit || query.before.is_none() {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }

    /// Returns the session that is meant by an ID, the beginning of one, `last`, or N.
    pub fn find_session(&self, what: &str) -> Result<SessionView, Failure> {
        let none = || Failure::NoSession(what.to_owned());
        if what.is_empty() {
            return Err(none());
        }
        match self.runtime.block_on(self.server.get_session(what)) {
            Err(error) if error.kind == AgentErrorKind::SessionNotFound => {}
            other => return other.map_err(server_failure),
        }
        if let Some(position) = parse_list_position(what) {
            let query = SessionQuery { archived: Some(false), ..SessionQuery::default() };
            let found = self.list_sessions(&query, position, |_| true)?.into_iter().nth(position - 1);
            if let Some(session) = found {
                return Ok(session);
            }
        }
        let mut found =
            self.list_sessions(&SessionQuery::default(), usize::MAX, |session| session.id.starts_with(what))?;
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => Ok(only),
            (None, _) => Err(none()),
            (Some(oldest), false) => {
                found.push(oldest);
                let now = host::now();
                let lines = found.iter().map(|session| summary_line(&session_record(session), now));
                let known = lines.collect::<Vec<_>>().join("\n");
                Err(Failure::SeveralSessions { what: what.to_owned(), known })
            }
        }
    }

    /// Returns the sessions that are meant, each once.
    pub fn find_sessions(&self, all: &[String]) -> Result<Vec<SessionView>, Failure> {
        let mut found: Vec<SessionView> = Vec::new();
        for what in all {
            let session = self.find_session(what)?;
            if !found.iter().any(|known| known.id == session.id) {
                found.push(session);
            }
        }
        Ok(found)
    }
}

/// Parses a position in the list of sessions, as the log does.
fn parse_list_position(what: &str) -> Option<usize> {
    let is_number =
        what.len() <= MAX_POSITION_DIGITS && !what.starts_with('0') && what.bytes().all(|byte| byte.is_ascii_digit());
    if what == "last" { Some(1) } else { what.parse().ok().filter(|_| is_number) }
}

/// Returns a session of a server in the form of the log, as far as the server tells.
pub fn session_record(view: &SessionView) -> SessionRecord {
    let ended = |reason| SessionEnded {
        reason,
        error: view.error.clone(),
        exit_code: None,
        signal: None,
        duration_ms: 0,
        by: Decider::Switchboard,
    };
    SessionRecord {
        number: 0,
        id: view.id.clone(),
        agent: view.agent_id.as_str().into(),
        agent_session: None,
        state: session_phase(view),
        owner: None,
        node: view.node.clone(),
        created: view.created_at,
        updated: view.updated_at,
        ended: view.ended_at,
        head: view.events,
        runs: view.runs,
        turns: view.turns,
        project: view.project_id.clone(),
        cwd: view.working_directory.clone(),
        title: view.title.clone(),
        prompt: view.prompt.clone(),
        config: serde_json::value::to_raw_value(&view.config).unwrap_or_default(),
        carry: None,
        end: view.reason.map(ended).and_then(|end| serde_json::value::to_raw_value(&end).ok()),
        archived: view.archived,
    }
}

fn session_phase(view: &SessionView) -> SessionPhase {
    match (view.state, view.activity) {
        (SessionLifecycle::Running, Some(Activity::Waiting)) => SessionPhase::Waiting,
        (SessionLifecycle::Running, Some(Activity::Idle)) => SessionPhase::Idle,
        (SessionLifecycle::Running, _) => SessionPhase::Running,
        (SessionLifecycle::Done, _) => SessionPhase::Done,
        (SessionLifecycle::Failed, _) => SessionPhase::Failed,
        (SessionLifecycle::Cancelled, _) => SessionPhase::Cancelled,
        (SessionLifecycle::Other, _) => SessionPhase::Other,
    }
}
