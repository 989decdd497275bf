//! Client responses to requests of the agent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::saved::read_present;

/// The response to a request for approval.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalResponse {
    /// Yes or no.
    pub decision: Decision,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// Yes, this once.
    Accept,
    /// Yes, and the like until the thread's agent ends.
    AcceptForSession,
    /// No, and go on.
    Decline,
    /// No, and stop the turn.
    Cancel,
}

/// The response to anything else that the agent asks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RequestResponse {
    /// What becomes of it.
    pub outcome: ResponseOutcome,
    /// One of the options that the agent offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The answers, by the id of the question.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Vec<String>>,
    /// The input that is allowed instead of what was asked for.
    #[serde(default, deserialize_with = "read_present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub input: Option<Box<RawValue>>,
    /// What the agent is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What becomes of something that the agent asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseOutcome {
    /// Yes.
    Allowed,
    /// The questions are answered.
    Answered,
    /// No, and go on.
    Declined,
    /// No, and stop the turn.
    Cancelled,
}
