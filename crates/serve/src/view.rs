//! Sessions as clients see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_client::SandboxView;
pub use switchboard_client::{SessionLifecycle, SessionView};
use switchboard_engine::{
    session_lifecycle, session_view,
    supervise::{SandboxFeature, SandboxReport},
};
use switchboard_event::{self as event, Id};
use switchboard_store::{SessionLog, SessionPhase, SessionRecord, StoreError};

use crate::{Problem, Service};

/// What most operations that do something answer with: only where the session stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// The session.
    pub id: Id,
    /// What became of it.
    pub state: SessionLifecycle,
}

impl From<&SessionRecord> for Standing {
    fn from(stored: &SessionRecord) -> Self {
        Self { id: stored.id.clone(), state: session_lifecycle(stored.state) }
    }
}

impl Service {
    /// What the log knows of a session, as clients see it.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn show(&self, stored: SessionRecord) -> Result<SessionView, Problem> {
        let approvals =
            if stored.state == SessionPhase::Waiting { self.open_approvals(&stored).await?.len() } else { 0 };
        let running = self.engine().session(&stored.id).filter(|session| !session.is_over());
        let sandbox = running.as_ref().and_then(|session| session.sandbox().map(describe_sandbox));
        Ok(SessionView { sandbox, ..session_view(stored, running.is_some(), approvals) })
    }
}

fn describe_sandbox(report: &SandboxReport) -> SandboxView {
    let name = |feature: SandboxFeature| feature.name().to_owned();
    SandboxView {
        enforced: report.enforced.iter().copied().map(name).collect(),
        missing: report.missing.iter().map(|(feature, _)| name(*feature)).collect(),
    }
}

/// Reads a session that this process does not run.
///
/// # Errors
/// If the log cannot be read.
pub fn read_session_view(log: &dyn SessionLog, stored: SessionRecord) -> Result<SessionView, StoreError> {
    let waits = stored.state == SessionPhase::Waiting;
    let kinds = event::SessionState::REQUEST_KINDS;
    let approvals = if waits { log.read_state(&stored.id, kinds)?.requests.len() } else { 0 };
    Ok(session_view(stored, false, approvals))
}
