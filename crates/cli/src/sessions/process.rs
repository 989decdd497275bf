//! The process that runs a session, spoken with through its private socket.

use std::path::{Path, PathBuf};

use switchboard_client::{AgentErrorKind, RemoteServer};
use switchboard_store::{SessionLog, SessionRecord, SqliteStore};

use crate::failure::Failure;

/// The socket of a process that shares the data folder.
fn socket(data: &Path, number: u64) -> PathBuf {
    data.join("owners").join(format!("{number}.sock"))
}

/// The process that runs a session; nothing if it has ended.
pub fn of(data: &Path, session: &SessionRecord) -> Result<Option<RemoteServer>, Failure> {
    if session.state.is_final() {
        return Ok(None);
    }
    let socket = session.owner.map(|number| socket(data, number)).filter(|socket| socket.exists());
    match socket {
        Some(socket) => Ok(Some(RemoteServer::from_socket_path(socket))),
        None => Err(Failure::Machine(format!("the process that runs session {} does not listen", session.id))),
    }
}

/// The process that runs a session, for what makes sense only while it lives.
pub fn living(data: &Path, session: &SessionRecord) -> Result<RemoteServer, Failure> {
    of(data, session)?.ok_or_else(|| ended(session))
}

/// It is too late.
pub fn ended(session: &SessionRecord) -> Failure {
    Failure::Refused(format!(
        "session {id} has ended: {state}\nhint: go on with it by `switchboard sessions prompt {id} \"…\"`",
        id = session.id,
        state = session.state
    ))
}

/// What went wrong with a process: one that is gone has ended its sessions, and then that is the news.
pub fn explained(log: &dyn SessionLog, session: &SessionRecord, error: switchboard_client::AgentError) -> Failure {
    let now = log.get_session(&session.id).ok().flatten().filter(|now| now.state.is_final());
    match now {
        Some(now) if error.kind == AgentErrorKind::ConnectionFailed => ended(&now),
        _ => Failure::Remote(error),
    }
}

/// A server of this data folder, which can run any session.
pub async fn server(data: &Path, log: &SqliteStore) -> Option<RemoteServer> {
    let owners = log.list_owners().unwrap_or_default().into_iter().rev().filter(|owner| owner.alive);
    for socket in owners.map(|owner| socket(data, owner.number)).filter(|socket| socket.exists()) {
        let remote = RemoteServer::from_socket_path(socket);
        // One that does not answer is none.
        let health = remote.get_health().await.unwrap_or_default();
        if health.get("serves").and_then(serde_json::Value::as_bool) == Some(true) {
            return Some(remote);
        }
    }
    None
}
