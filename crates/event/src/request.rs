//! `request.opened` and `request.resolved`: requests of an agent to its clients.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Call, Change, Id, Timestamp};

/// The agent waits for an answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RequestOpened {
    /// The ID for the answer.
    pub request: Id,
    /// What it is about.
    pub about: About,
    /// A one-line title.
    #[serde(default)]
    pub title: String,
    /// The reason for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tool call it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Call>>,
    /// The command to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The directory of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The file changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The questions to answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The options that the agent offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<RequestOption>,
    /// Only a person may answer: no mode, list or remembered answer decides it, and no is offered first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// When the request is declined automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether the settings of the session decide the request, so that no client is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decided: bool,
}

impl RequestOpened {
    /// Requires a person to answer: only one-time answers are offered, and rejections come first because some clients
    /// preselect the first option.
    #[must_use]
    pub fn require_person(mut self) -> Self {
        self.requires_person = true;
        let lasts = |option: &RequestOption| matches!(option.kind, OptionKind::AllowSession | OptionKind::AllowAlways);
        self.options.retain(|option| !lasts(option));
        self.options.sort_by_key(|option| option.kind == OptionKind::AllowOnce);
        self
    }
}

/// What a request is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// A shell command.
    Command,
    /// File changes.
    FileChange,
    /// Any other tool.
    #[default]
    Tool,
    /// Questions to the user.
    Question,
    /// A plan to agree to.
    Plan,
    /// The progress of a login.
    Auth,
    /// More rights than the session has.
    Permissions,
    /// A form or a link of an MCP server.
    Elicitation,
    /// A hook of the host.
    Hook,
    /// Something else.
    #[serde(other)]
    Other,
}

/// One question to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The id to answer to; the question itself where the agent has none.
    pub id: String,
    /// The question.
    pub question: String,
    /// A word or two above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The answers to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// More than one may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiple: bool,
    /// An answer in own words is allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free_text: bool,
    /// The answer is a secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

/// One answer to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// What it is called, and what is sent back.
    pub label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// One way to answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestOption {
    /// What is sent back.
    pub id: String,
    /// What is shown.
    pub label: String,
    /// What it means.
    pub kind: OptionKind,
}

/// What choosing an option means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Accept it once.
    AllowOnce,
    /// Yes, until the session ends.
    AllowSession,
    /// Yes, from now on.
    AllowAlways,
    /// Decline it; the turn continues.
    #[default]
    Reject,
    /// No, and stop.
    Cancel,
}

/// A request was answered, or needs no answer any more.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RequestResolved {
    /// The request.
    pub request: Id,
    /// What became of it.
    pub outcome: Outcome,
    /// Who decided.
    pub by: Decider,
    /// The option that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The changed input that was allowed instead.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<Box<RawValue>>,
    /// The answers, by question.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Vec<String>>,
    /// The message for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Yes.
    Allowed,
    /// No, and the turn goes on.
    Declined,
    /// No, and the turn stops.
    Cancelled,
    /// The questions were answered.
    Answered,
    /// The agent no longer asks.
    #[default]
    Withdrawn,
    /// Not answered in time.
    Expired,
}

/// Who decided something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// A client, for its user.
    Client,
    /// A rule of the session.
    Policy,
    /// The clock.
    Timeout,
    /// The agent itself.
    Agent,
    /// Switchboard, because no other party decided.
    #[default]
    Switchboard,
}

#[cfg(test)]
mod tests {
    use super::{OptionKind, RequestOpened, RequestOption};

    #[test]
    fn a_person_is_offered_no_first_and_yes_only_once() {
        use OptionKind::{AllowAlways, AllowOnce, AllowSession, Cancel, Reject};
        let option = |kind| RequestOption { kind, ..RequestOption::default() };
        let options = [AllowOnce, AllowSession, AllowAlways, Reject, Cancel].map(option).to_vec();
        let request = RequestOpened { options, ..RequestOpened::default() }.require_person();
        let kinds: Vec<_> = request.options.iter().map(|option| option.kind).collect();
        assert!(request.requires_person);
        assert_eq!(kinds, [Reject, Cancel, AllowOnce]);
        assert!(serde_json::to_string(&request).unwrap().contains("\"requires_person\":true"));
        assert!(!serde_json::to_string(&RequestOpened::default()).unwrap().contains("requires_person"));
    }
}
