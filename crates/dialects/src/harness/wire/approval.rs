//! Approval requests.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{RequestOption, Timestamp};

use super::{FileUpdateChange, TurnId};

/// May this command run? The response is `{decision: "accept" | "decline"}`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandApproval<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    /// The item; where the agent names none, the id of the request.
    pub item_id: &'a str,
    pub command: &'a str,
    pub cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    #[serde(rename = "_meta")]
    pub meta: ApprovalMeta<'a>,
}

/// May these files change? The response is `{decision: "accept" | "acceptForSession" | "decline"}`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeApproval<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    /// The item; where the agent names none, the id of the request.
    pub item_id: &'a str,
    pub changes: Vec<FileUpdateChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    #[serde(rename = "_meta")]
    pub meta: ApprovalMeta<'a>,
}

/// What else is known about what is asked.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalMeta<'a> {
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    /// The tool, by the agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'a str>,
    /// What the tool would be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<&'a RawValue>,
    /// The answers that the agent offers.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub options: &'a [RequestOption],
    /// Only a person may answer, and only for this one time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// When it is declined by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The subagent's thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// The item under which a subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<&'a str>,
}
