//! Sessions that another process runs, controlled through its private socket.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use switchboard_agents::{Abilities, RequestAnswer, RequestDecision, find_agent};
use switchboard_client as client;
use switchboard_client::{AgentErrorKind, RemoteServer};
use switchboard_event::Id;
use switchboard_store::{SessionLog, SessionRecord, SqliteStore};

use crate::{failure::Failure, signals::StopSignal, watch::SessionControl};

/// A session of another process.
pub struct RemoteSession {
    log: Arc<dyn SessionLog>,
    data: PathBuf,
    id: Id,
    abilities: Abilities,
}

impl RemoteSession {
    pub fn new(log: Arc<dyn SessionLog>, data: PathBuf, session: &SessionRecord) -> Self {
        let abilities = find_agent(&session.agent).map_or(Abilities::NONE, |agent| agent.abilities);
        Self { log, data, id: session.id.clone(), abilities }
    }

    async fn pass_on(&self, answer: &RequestAnswer) -> Result<(), Failure> {
        // The owner may have changed since watching began.
        let Some(session) = self.log.get_session(&self.id)? else { return Ok(()) };
        let Some(remote) = connect_owner(&self.data, &session)? else { return Ok(()) };
        match remote.answer_approval(&self.id, &answer.request, &approval_answer(answer)).await {
            Err(error) if matches!(error.code.as_deref(), Some("not_open" | "ended")) => Ok(()),
            other => other.map_err(Failure::Remote),
        }
    }
}

impl SessionControl for RemoteSession {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn answer(&self, answer: RequestAnswer) -> Result<(), String> {
        self.pass_on(&answer).await.map_err(|error| error.to_string())
    }

    async fn stop(&self, _: StopSignal) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

pub fn approval_answer(answer: &RequestAnswer) -> client::ApprovalAnswer {
    client::ApprovalAnswer {
        decision: match answer.decision {
            RequestDecision::Allow => client::ApprovalDecision::Accept,
            RequestDecision::AllowSession => client::ApprovalDecision::AcceptForSession,
            RequestDecision::Decline => client::ApprovalDecision::Decline,
            RequestDecision::Cancel => client::ApprovalDecision::Cancel,
        },
        option: answer.option.clone(),
        reason: answer.message.clone(),
        input: answer.input.clone(),
        answers: answer.answers.clone(),
    }
}

/// Returns the private socket of a process that shares the data directory.
fn socket_path(data: &Path, number: u64) -> PathBuf {
    data.join("owners").join(format!("{number}.sock"))
}

/// Connects to the process that runs a session; `None` if the session has ended.
pub fn connect_owner(data: &Path, session: &SessionRecord) -> Result<Option<RemoteServer>, Failure> {
    if session.state.is_final() {
        return Ok(None);
    }
    let socket = session.owner.map(|number| socket_path(data, number)).filter(|socket| socket.exists());
    match socket {
        Some(socket) => Ok(Some(RemoteServer::from_socket_path(socket))),
        None => Err(Failure::Machine(format!("the process that runs session {} does not listen", session.id))),
    }
}

/// Connects to the process that runs a session; fails if the session has ended.
pub fn connect_running(data: &Path, session: &SessionRecord) -> Result<RemoteServer, Failure> {
    connect_owner(data, session)?.ok_or_else(|| ended_error(&session.id, session.state.name()))
}

/// Returns the error of a command for a session that has ended.
pub fn ended_error(id: &Id, state: &str) -> Failure {
    Failure::Refused(format!(
        "session {id} has ended: {state}\nhint: continue it with `switchboard sessions prompt {id} \"…\"`"
    ))
}

/// Explains an error of the process that runs a session: if the process is gone, the session has ended, which is
/// reported instead.
pub fn explain_remote_error(
    log: &dyn SessionLog,
    session: &SessionRecord,
    error: switchboard_client::AgentError,
) -> Failure {
    let now = log.get_session(&session.id).ok().flatten().filter(|now| now.state.is_final());
    match now {
        Some(now) if error.kind == AgentErrorKind::ConnectionFailed => ended_error(&now.id, now.state.name()),
        _ => Failure::Remote(error),
    }
}

/// Returns a server on this data directory, which can run any session.
pub async fn find_server(data: &Path, log: &SqliteStore) -> Option<RemoteServer> {
    let owners = log.list_owners().unwrap_or_default().into_iter().rev().filter(|owner| owner.alive);
    for socket in owners.map(|owner| socket_path(data, owner.number)).filter(|socket| socket.exists()) {
        let remote = RemoteServer::from_socket_path(socket);
        // A server that does not answer is skipped.
        let health = remote.get_health().await.unwrap_or_default();
        if health.get("serves").and_then(serde_json::Value::as_bool) == Some(true) {
            return Some(remote);
        }
    }
    None
}
