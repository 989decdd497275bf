//! The session logs of a server, over its API.

use std::{collections::HashSet, ops::Range, path::PathBuf, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use switchboard_agents::{PassageKind, SessionFacts};
use switchboard_client::{AgentError, AgentErrorKind, SessionQuery, http::percent_encode};
use switchboard_dialects::DIALECTS;
use switchboard_event::{Event, Id, Timestamp};
use switchboard_logs::{LogSession, OwnSession, SearchHit};
use switchboard_store::SessionPhase;
use tokio::time::sleep;

use crate::{
    failure::Failure,
    remote::{ServerClient, encode_query, server_failure},
    short_ids::ShortIds,
    terminal::print_note,
};

/// The code of a server that is building its index for the first time.
const INDEXING_CODE: &str = "indexing";

const INDEXING_INTERVAL: Duration = Duration::from_millis(500);

/// The most sessions of a page.
const MAX_PAGE_SESSIONS: &str = "500";

/// The most messages of a page.
const MAX_PAGE_EVENTS: u32 = 10_000;

/// The most hits of a search.
const MAX_HITS: &str = "500";

/// Sends a query, again while the server builds its index for the first time.
pub fn query<T: DeserializeOwned>(
    server: &ServerClient,
    path: &str,
    query: &[(&'static str, impl AsRef<str>)],
) -> Result<T, Failure> {
    let path = format!("{path}{}", encode_query(query));
    server.runtime.block_on(async {
        let mut is_noted = false;
        loop {
            match server.server.get(&path).await {
                Err(error) if error.code.as_deref() == Some(INDEXING_CODE) => {
                    if !std::mem::replace(&mut is_noted, true) {
                        print_note("the server builds its index of logs; this happens once");
                    }
                    sleep(INDEXING_INTERVAL).await;
                }
                other => return other.map_err(server_failure),
            }
        }
    })
}

/// The hits of a search, each as it was received.
#[derive(Deserialize)]
pub struct ReceivedHits {
    pub hits: Vec<Box<RawValue>>,
    pub more: bool,
}

/// A hit of a search.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceivedHit {
    session: String,
    agent: String,
    at: Option<Timestamp>,
    event_type: String,
    snippet: String,
    path: PathBuf,
    offset: u64,
    turn: u32,
    subagent: Option<String>,
    tool: Option<String>,
    project: Option<String>,
    machine: Option<String>,
    marks: Vec<[usize; 2]>,
    score: f64,
}

impl ReceivedHit {
    pub fn parse(json: &RawValue) -> Result<Self, Failure> {
        serde_json::from_str(json.get()).map_err(|error| malformed(&error))
    }
}

impl From<ReceivedHit> for SearchHit {
    fn from(hit: ReceivedHit) -> Self {
        let kind = PassageKind::ALL.into_iter().find(|kind| kind.wire_name() == hit.event_type);
        let marks = hit.marks.into_iter().map(|[start, end]| Range { start, end }).collect();
        Self {
            session: hit.session,
            agent: hit.agent,
            machine: hit.machine,
            project: hit.project,
            subagent: hit.subagent,
            at: hit.at,
            // A kind that only a later server knows.
            kind: kind.unwrap_or(PassageKind::Meta),
            tool: hit.tool,
            turn: hit.turn,
            snippet: hit.snippet,
            marks,
            path: hit.path,
            offset: hit.offset,
            score: hit.score,
        }
    }
}

/// A session in the logs of a server.
#[derive(Deserialize)]
struct ReceivedSession {
    id: String,
    agent: String,
    machine: Option<String>,
    project: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    title: Option<String>,
    prompt: Option<String>,
    version: Option<String>,
    began: Option<Timestamp>,
    updated: Option<Timestamp>,
    turns: u32,
    subagents: Vec<String>,
    files: Vec<PathBuf>,
    bytes: Option<u64>,
    gone: bool,
    archived: bool,
    switchboard: Option<ReceivedOwner>,
}

/// What the server knows about a session that it ran itself.
#[derive(Deserialize)]
struct ReceivedOwner {
    id: Id,
    state: String,
}

impl From<ReceivedSession> for LogSession {
    fn from(session: ReceivedSession) -> Self {
        let facts = SessionFacts {
            cwd: session.project,
            branch: session.branch,
            model: session.model,
            title: session.title,
            prompt: session.prompt,
            version: session.version,
            began: session.began,
            updated: session.updated,
            prompts: session.turns,
            ..SessionFacts::default()
        };
        let own = |owner: ReceivedOwner| OwnSession { id: owner.id, state: SessionPhase::from_name(&owner.state) };
        Self {
            id: session.id,
            agent: session.agent,
            machine: session.machine,
            facts,
            files: session.files,
            gone: session.gone,
            archived: session.archived,
            bytes: session.bytes,
            own: session.switchboard.map(own),
            subagents: session.subagents,
        }
    }
}

/// A page of sessions.
#[derive(Deserialize)]
struct ReceivedSessions {
    sessions: Vec<ReceivedSession>,
    next: Option<String>,
}

/// Lists all sessions that match, latest first.
pub fn list_sessions(server: &ServerClient, filter: &[(&'static str, String)]) -> Result<Vec<LogSession>, Failure> {
    let filter: Vec<_> = filter.iter().filter(|(name, _)| *name != "session").cloned().collect();
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let mut query_pairs = filter.clone();
        query_pairs.push(("limit", MAX_PAGE_SESSIONS.to_owned()));
        query_pairs.extend(before.map(|before| ("before", before)));
        let page: ReceivedSessions = query(server, "/api/logs", &query_pairs)?;
        found.extend(page.sessions.into_iter().map(LogSession::from));
        before = page.next;
        if before.is_none() {
            return Ok(found);
        }
    }
}

/// Returns the session that is meant by an ID, the beginning of one, or `last`.
pub fn find_session(server: &ServerClient, what: &str) -> Result<LogSession, Failure> {
    let path = format!("/api/logs/{}", percent_encode(what));
    Ok(query::<ReceivedSession>(server, &path, &NO_PARAMETERS)?.into())
}

const NO_PARAMETERS: [(&str, &str); 0] = [];

/// Returns the agents and IDs of the sessions with a text.
pub fn sessions_with_text(
    server: &ServerClient,
    filter: &[(&'static str, String)],
    text: &str,
) -> Result<HashSet<(String, String)>, Failure> {
    let mut query_pairs = filter.to_vec();
    query_pairs.extend([("q", text.to_owned()), ("limit", MAX_HITS.to_owned())]);
    let found: ReceivedHits = query(server, "/api/search", &query_pairs)?;
    if found.more {
        print_note(&format!("--text: only sessions of the best {MAX_HITS} matches are listed"));
    }
    let hits = found.hits.iter().map(|hit| ReceivedHit::parse(hit));
    hits.map(|hit| hit.map(|hit| (hit.agent, hit.session))).collect()
}

/// Returns short forms of the IDs of all sessions, those of agents and of Switchboard.
pub fn short_ids(server: &ServerClient) -> Result<ShortIds, Failure> {
    let logged = list_sessions(server, &[])?.into_iter().map(|session| session.id);
    let own = server.list_sessions(&SessionQuery::default(), usize::MAX, |_| true)?;
    Ok(ShortIds::among(logged.chain(own.into_iter().map(|session| session.id.to_string()))))
}

/// A page of events.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReceivedLogEvents {
    events: Vec<Box<RawValue>>,
    next_offset: Option<u64>,
    kept: bool,
}

/// Returns the events of a session, and whether the agent has deleted its log.
pub fn read_events(server: &ServerClient, session: &LogSession) -> Result<(Vec<Event>, bool), Failure> {
    let dialect = DIALECTS.iter().find(|dialect| dialect.verbatim).map_or("", |dialect| dialect.name);
    let path = format!("/api/logs/{}/events", percent_encode(&session.id));
    let (mut events, mut offset) = (Vec::new(), 0);
    loop {
        let (offset_text, limit) = (offset.to_string(), MAX_PAGE_EVENTS.to_string());
        let query_pairs = [("dialect", dialect), ("offset", offset_text.as_str()), ("limit", limit.as_str())];
        let page: ReceivedLogEvents = query(server, &path, &query_pairs)?;
        for event in &page.events {
            events.push(Event::from_json(event.get()).map_err(|error| malformed(&error))?);
        }
        match page.next_offset {
            Some(next) => offset = next,
            None => return Ok((events, page.kept)),
        }
    }
}

fn malformed(error: &impl ToString) -> Failure {
    let message = format!("the answer of the server is malformed: {}", error.to_string());
    server_failure(AgentError::new(AgentErrorKind::ProtocolError, message))
}
