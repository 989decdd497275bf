//! Requests of an agent and their answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use switchboard_event::{About, Call, Change, Id, Outcome, Question, RequestOpened, RequestOption, Timestamp};

/// A request of an agent that has not been answered yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct Approval {
    /// The id to answer to.
    pub id: Id,
    /// The session.
    pub session_id: Id,
    /// What it is about.
    pub about: About,
    /// One line for people.
    pub title: String,
    /// Why the agent asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where it would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The files that would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The tool call that it is about.
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
    /// When it is declined by itself.
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

/// What is open.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Approvals {
    /// Oldest first.
    pub approvals: Vec<Approval>,
}

/// An answer that was taken.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The request.
    pub id: Id,
    /// What became of it.
    pub outcome: Outcome,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApprovalDecision")]
pub enum ApprovalDecision {
    /// Yes, this once. Questions are answered with it.
    Accept,
    /// Yes, and the like until the session ends.
    AcceptForSession,
    /// No, and go on.
    #[default]
    Decline,
    /// No, and stop the turn.
    Cancel,
}

/// The answer to what an agent asks.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApprovalAnswer")]
pub struct ApprovalAnswer {
    /// Yes or no.
    pub decision: ApprovalDecision,
    /// One of the options that the agent offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// What the agent is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The input that is allowed instead of what was asked for.
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
