//! Discovers the capabilities of an agent without a session: the agent is started, queried and ended. Nothing is
//! stored.

use std::{sync::Arc, time::Duration};

use switchboard_event::{Id, Info, SessionConfig, Timestamp};
use switchboard_store::{
    AbandonedSession, AgentRun, Checkpoint, CheckpointPosition, EventBatch, EventRow, NewSession, PageQuery, Retention,
    SessionFilter, SessionLog, SessionRecord, StoreError,
};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{Engine, SessionHandle, SessionTimeouts, StartError, StartRequest, paths::WorkingDirectory};

/// The time that an agent may take to report its capabilities once it is ready.
const REPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// After this time without events, the report is complete. Requests other than the handshake are answered within it.
const MAX_EVENT_INTERVAL: Duration = Duration::from_millis(400);

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

impl Engine {
    /// Returns the capabilities of an agent: models, modes, options, commands. Those that it does not report are
    /// missing.
    pub async fn discover_capabilities(
        &self,
        agent: &str,
        config: SessionConfig,
        working_directory: Option<WorkingDirectory>,
    ) -> Result<Info, StartError> {
        let request = StartRequest {
            agent: agent.to_owned(),
            config,
            working_directory,
            stay: true,
            timeouts: SessionTimeouts { handshake: HANDSHAKE_TIMEOUT, ..SessionTimeouts::default() },
            ..StartRequest::default()
        };
        let session = self.with_log(Arc::new(NullLog)).start_session(request).await?;
        let info = wait_for_info(&session).await;
        // The agent is no longer needed, whatever it is doing.
        drop(session.cancel().await);
        match info {
            Some(info) => Ok(info),
            None => {
                let error = session.wait_for_outcome().await.error;
                let cause = error.map_or_else(|| "it ended".to_owned(), |fault| fault.message);
                let title = session.agent().title;
                Err(StartError::BadRequest(format!("cannot read the capabilities of {title}: {cause}")))
            }
        }
    }
}

async fn wait_for_info(session: &SessionHandle) -> Option<Info> {
    if !session.wait_until_ready().await {
        return None;
    }
    let (mut follower, end) = (session.follow(), Instant::now() + REPORT_TIMEOUT);
    // When events pause, end, or last too long, the capabilities known by then are the result.
    while let Ok(Ok(Ok(Some(_)))) = timeout_at(end, timeout(MAX_EVENT_INTERVAL, follower.next())).await {}
    Some(session.info())
}

/// A log that stores nothing, and knows no session.
struct NullLog;

impl SessionLog for NullLog {
    fn create_session(&self, _: NewSession) -> Result<(), StoreError> {
        Ok(())
    }

    fn claim_session(&self, session: &str, _: Option<u64>) -> Result<SessionRecord, StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn append_batch(&self, batch: EventBatch) {
        (batch.done)(Ok(()));
    }

    fn get_session(&self, _: &str) -> Result<Option<SessionRecord>, StoreError> {
        Ok(None)
    }

    fn list_sessions(&self, _: &SessionFilter) -> Result<Vec<SessionRecord>, StoreError> {
        Ok(Vec::new())
    }

    fn read_rows(&self, session: &str, _: PageQuery) -> Result<Vec<EventRow>, StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn list_runs(&self, session: &str) -> Result<Vec<AgentRun>, StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn list_abandoned(&self) -> Result<Vec<AbandonedSession>, StoreError> {
        Ok(Vec::new())
    }

    fn take_over(&self) -> Result<Vec<AbandonedSession>, StoreError> {
        Ok(Vec::new())
    }

    fn set_archived(&self, session: &str, _: bool) -> Result<(), StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn delete_session(&self, session: &str) -> Result<(), StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn expire_sessions(&self, _: &Retention, _: Timestamp) -> Result<Vec<Id>, StoreError> {
        Ok(Vec::new())
    }

    fn save_checkpoint(&self, _: &str, _: Checkpoint) {}

    fn find_checkpoint(
        &self,
        session: &str,
        _: &str,
        _: &str,
        _: CheckpointPosition,
    ) -> Result<Option<Checkpoint>, StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }
}
