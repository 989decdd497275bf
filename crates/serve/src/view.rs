//! A session as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_engine::supervise::{SandboxFeature, SandboxReport};
use switchboard_event::{EndReason, Fault, Id, SessionConfig, Timestamp};
use switchboard_store::{Log, Session as Stored, State, StoreError};

use crate::{Problem, Service, requests::Requests};

/// A session as clients see it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its id.
    pub id: Id,
    /// What became of it.
    pub state: SessionState,
    /// What it is doing, while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// The agent.
    pub agent_type: String,
    /// The agent, by the name that older clients know.
    pub agent_id: String,
    /// What the work belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The first prompt.
    pub prompt: String,
    /// What to call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder that it works in.
    pub working_directory: String,
    /// How it is run. Values that are likely to be secrets are masked.
    pub config: SessionConfig,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the last event happened.
    pub updated_at: Timestamp,
    /// When it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How many turns it had.
    pub turns: u32,
    /// How many runs it had.
    pub runs: u32,
    /// How many events it has, which is also the `seq` of the last one.
    pub events: u64,
    /// How it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// The sandbox around its agent, while a confined session runs in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxView>,
    /// The process that answers runs it.
    pub here: bool,
    /// How many requests wait for an answer.
    pub approvals: usize,
    /// It is put away, so that lists need not show it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// The sandbox that is in force around a session's agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxView {
    /// The features of the kernel that enforce it.
    pub enforced: Vec<String>,
    /// Features that this machine lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl From<&SandboxReport> for SandboxView {
    fn from(report: &SandboxReport) -> Self {
        let name = |feature: SandboxFeature| feature.name().to_owned();
        Self {
            enforced: report.enforced.iter().copied().map(name).collect(),
            missing: report.missing.iter().map(|(feature, _)| name(*feature)).collect(),
        }
    }
}

/// What became of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionState {
    /// It is open.
    Running,
    /// It ended well.
    Done,
    /// It ended badly.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

/// What an open session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Activity {
    /// The agent works.
    Running,
    /// The agent waits for an answer to a request.
    Waiting,
    /// The agent waits for a prompt.
    Idle,
}

impl From<State> for SessionState {
    fn from(state: State) -> Self {
        match state {
            State::Done => Self::Done,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
            State::Running | State::Waiting | State::Idle | State::Other => Self::Running,
        }
    }
}

fn activity(state: State) -> Option<Activity> {
    match state {
        State::Running | State::Other => Some(Activity::Running),
        State::Waiting => Some(Activity::Waiting),
        State::Idle => Some(Activity::Idle),
        State::Done | State::Failed | State::Cancelled => None,
    }
}

/// What most operations that do something answer with: only where the session stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// The session.
    pub id: Id,
    /// What became of it.
    pub state: SessionState,
}

impl From<&Stored> for Standing {
    fn from(stored: &Stored) -> Self {
        Self { id: stored.id.clone(), state: stored.state.into() }
    }
}

impl Service {
    /// What the log knows of a session, as clients see it.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn show(&self, stored: Stored) -> Result<SessionView, Problem> {
        let approvals = if stored.state == State::Waiting { self.open_approvals(&stored).await?.len() } else { 0 };
        let running = self.engine().session(&stored.id).filter(|session| !session.is_over());
        let sandbox = running.as_ref().and_then(|session| session.sandbox().map(SandboxView::from));
        Ok(SessionView { sandbox, ..SessionView::new(stored, running.is_some(), approvals) })
    }
}

impl SessionView {
    /// What the log knows of a session that this process does not run.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn read(log: &dyn Log, stored: Stored) -> Result<Self, StoreError> {
        let waits = stored.state == State::Waiting;
        let approvals = if waits { Requests::read(log, &stored.id)?.into_open().len() } else { 0 };
        Ok(Self::new(stored, false, approvals))
    }

    /// What the log knows of a session, whether this process runs it, and how many requests are open.
    #[must_use]
    pub fn new(stored: Stored, here: bool, approvals: usize) -> Self {
        // What a later version wrote is shown as far as it is understood.
        let end = stored.end().unwrap_or_default();
        Self {
            state: stored.state.into(),
            activity: activity(stored.state),
            agent_type: stored.agent.to_string(),
            agent_id: stored.agent.to_string(),
            config: stored.config().map(|config| config.masked()).unwrap_or_default(),
            project_id: stored.project,
            prompt: stored.prompt,
            title: stored.title,
            working_directory: stored.cwd,
            created_at: stored.created,
            updated_at: stored.updated,
            ended_at: stored.ended,
            turns: stored.turns,
            runs: stored.runs,
            events: stored.head,
            reason: end.as_ref().map(|end| end.reason),
            error: end.and_then(|end| end.error),
            sandbox: None,
            here,
            approvals,
            archived: stored.archived,
            id: stored.id,
        }
    }
}
