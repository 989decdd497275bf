//! The requests and responses of the HTTP API besides events, shared by client and server. Unknown fields are ignored;
//! in responses, missing ones are empty.

mod nodes;
mod request;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_event::{
    About, Call, Change, EndReason, ErrorCode, Fault, Id, Outcome, Question, RequestOpened, RequestOption,
    SessionConfig, Timestamp,
};

pub use nodes::{NodeList, NodeStateView, NodeView};
pub use request::{
    ArchiveRequest, CommandRequest, FollowUpRequest, ImageData, MAX_TIMEOUT_SECONDS, MAX_TURNS, ModeRequest,
    ModelRequest, OptionRequest, SessionAction, StartSessionRequest, seconds_schema, variables_schema,
};

/// The state of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SessionState")]
pub enum SessionLifecycle {
    /// Open.
    #[default]
    Running,
    /// Completed.
    Done,
    /// Failed.
    Failed,
    /// Ended on request.
    Cancelled,
    /// A state that only a later server knows.
    #[serde(other)]
    #[schemars(skip)]
    Other,
}

impl SessionLifecycle {
    /// Returns whether the session has ended. A follow-up reopens it.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Other => "other",
        }
    }
}

/// The activity of an open session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Activity {
    /// The agent works.
    #[default]
    Running,
    /// The agent waits for an answer to a request.
    Waiting,
    /// The agent waits for a prompt.
    Idle,
    /// Something that only a later server knows.
    #[serde(other)]
    #[schemars(skip)]
    Other,
}

/// A session as clients see it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct SessionView {
    /// The session ID.
    pub id: Id,
    /// The state.
    pub state: SessionLifecycle,
    /// The activity of an open session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// The agent.
    pub agent_type: String,
    /// The agent, under the name that older clients use.
    pub agent_id: String,
    /// Project name for grouping sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The first prompt.
    pub prompt: String,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The working directory.
    pub working_directory: String,
    /// The settings. Values that are likely to be secrets are masked.
    pub config: SessionConfig,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last event.
    pub updated_at: Timestamp,
    /// The time of the end, if the session has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The number of turns.
    pub turns: u32,
    /// The number of runs.
    pub runs: u32,
    /// The number of events, which is also the `seq` of the last one.
    pub events: u64,
    /// The reason of the end, if the session has ended.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_reason")]
    pub reason: Option<EndReason>,
    /// The error, if the session has failed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_error")]
    pub error: Option<Fault>,
    /// The sandbox around its agent, while a confined session runs in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxView>,
    /// The node that runs the session or ran it last, in a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Whether the process that responds runs the session.
    pub here: bool,
    /// The number of requests that wait for an answer.
    pub approvals: usize,
    /// Whether the session is archived and hidden from lists.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// The sandbox that is in force around a session's agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxView {
    /// The features of the kernel that enforce it.
    pub enforced: Vec<String>,
    /// Features that this machine lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Deserializes a reason; one that only a later server knows becomes `None`.
fn read_reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EndReason>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.and_then(|reason| serde_json::from_value(reason).ok()))
}

/// Deserializes an error: a text, an object with a message, or the format of another server.
fn read_error<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Fault>, D::Error> {
    let fault = |text: String| Fault::new(ErrorCode::default(), text);
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None => None,
        Some(Value::String(text)) => Some(fault(text)),
        Some(other) => serde_json::from_value(other.clone()).ok().or_else(|| {
            let message = other.get("message").and_then(Value::as_str);
            Some(fault(message.map_or_else(|| other.to_string(), str::to_owned)))
        }),
    })
}

/// The sessions to list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct SessionQuery {
    /// Only sessions of this agent.
    pub agent: Option<String>,
    /// Only sessions of this project.
    pub project: Option<String>,
    /// Only sessions in this state; `running` includes all open sessions.
    pub state: Option<SessionStateFilter>,
    /// Only sessions with this text in the title or the prompt, ignoring case.
    pub text: Option<String>,
    /// Only sessions that work in this directory.
    pub cwd: Option<String>,
    /// Only sessions of this node.
    pub node: Option<String>,
    /// Only archived sessions, or only others.
    pub archived: Option<bool>,
    /// The maximum number of sessions. A page may have fewer; `next` is present as long as there are more.
    #[schemars(range(min = 1, max = 500), extend("default" = 50))]
    pub limit: Option<u32>,
    /// The value of `next` of the previous page.
    #[schemars(regex(pattern = "^[1-9][0-9]{0,17}$"))]
    pub before: Option<String>,
}

/// A state to list sessions by. `Running` includes all open sessions; `Waiting` are those that wait for an answer, `Idle`
/// those that wait for a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "described together, so that the schema is a plain enumeration")]
pub enum SessionStateFilter {
    Running,
    Waiting,
    Idle,
    Done,
    Failed,
    Cancelled,
}

impl SessionStateFilter {
    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A page of sessions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "SessionList", !default)]
pub struct SessionPage {
    /// The sessions, newest first.
    pub sessions: Vec<SessionView>,
    /// The value of `before` for the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A request of an agent that has not been answered yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct Approval {
    /// The ID of the request.
    pub id: Id,
    /// The session.
    pub session_id: Id,
    /// The subject of the request.
    pub about: About,
    /// One line for people.
    pub title: String,
    /// Why the agent asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The directory of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The files that would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Call>>,
    /// The questions to answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The answers that the agent offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<RequestOption>,
    /// Only a person may answer, and only for this one time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// The time at which it is declined automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl Approval {
    /// Converts an open request of a session.
    #[must_use]
    pub fn new(session: &Id, request: &RequestOpened) -> Self {
        Self {
            id: request.request.clone(),
            session_id: session.clone(),
            about: request.about,
            title: request.title.clone(),
            reason: request.reason.clone(),
            command: request.command.clone(),
            cwd: request.cwd.clone(),
            changes: request.changes.clone(),
            call: request.call.clone(),
            questions: request.questions.clone(),
            options: request.options.clone(),
            requires_person: request.requires_person,
            expires_at: request.expires_at,
        }
    }
}

/// The open requests of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Approvals {
    /// The requests, oldest first.
    pub approvals: Vec<Approval>,
}

/// An accepted answer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The request.
    pub id: Id,
    /// The outcome.
    pub outcome: Outcome,
}

/// A decision on a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApprovalDecision")]
pub enum ApprovalDecision {
    /// Allow it once. Questions are answered with this decision.
    Accept,
    /// Allow it, and similar requests until the session ends.
    AcceptForSession,
    /// Decline it and continue.
    #[default]
    Decline,
    /// Decline it and stop the turn.
    Cancel,
}

/// The answer to a request of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApprovalAnswer")]
pub struct ApprovalAnswer {
    /// The decision.
    pub decision: ApprovalDecision,
    /// One of the options that the agent offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The reason, which the agent gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The input to allow in place of the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub input: Option<Box<RawValue>>,
    /// The answers, by question.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Vec<String>>,
}

impl From<ApprovalDecision> for ApprovalAnswer {
    fn from(decision: ApprovalDecision) -> Self {
        Self { decision, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionLifecycle, SessionView};

    #[test]
    fn little_is_enough_for_a_view() {
        let view: SessionView = serde_json::from_str(r#"{"id":"1","state":"done"}"#).unwrap();
        assert_eq!((&*view.id, view.state), ("1", SessionLifecycle::Done));
        let view: SessionView = serde_json::from_str(r#"{"id":"1","state":"resting","new":{},"error":null}"#).unwrap();
        assert_eq!((view.state, view.error.is_none()), (SessionLifecycle::Other, true));
        let both = r#"{"agentType":"a","agentId":"a","error":{"code":"unknown","message":"m"},"reason":"failed"}"#;
        assert_eq!(serde_json::from_str::<SessionView>(both).unwrap().agent_type, "a");
        let error = |text: &str| serde_json::from_str::<SessionView>(text).unwrap().error.unwrap().message;
        assert_eq!(error(r#"{"error":"boom"}"#), "boom");
        assert_eq!(error(r#"{"error":{"code":"x","message":"boom"}}"#), "boom");
    }
}
