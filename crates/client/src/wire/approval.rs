//! What an agent asks, and what it is answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{About, Call, Change, Id, Question, RequestOpened, RequestOption, Timestamp};

/// The agent waits for an answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where it would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The files that would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The tool call it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Call>>,
    /// The questions to answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The answers that the agent offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<RequestOption>,
    /// Only a person may answer, and only for this one time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// When it is declined by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl Approval {
    /// A request of a session.
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

/// Yes or no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// Yes, this once.
    Accept,
    /// Yes, and the like until the session ends.
    AcceptForSession,
    /// No, and go on.
    #[default]
    Decline,
    /// No, and stop the turn.
    Cancel,
}

/// The answer to a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Yes or no.
    pub decision: Decision,
    /// One of the options that the agent offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// What the agent is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The input that is allowed instead of what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    /// Answers to questions, by question.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Vec<String>>,
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Self { decision, ..Self::default() }
    }
}
