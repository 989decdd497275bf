//! Approval requests, and Switchboard's extensions of the protocol.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{
    Decider, EndReason, Field, Level, Outcome, RequestOpened, RequestOption, Resumed, Timestamp, Topic,
};

use super::{DeltaMeta, FileUpdateChange, ThreadInfo, TurnError, TurnId};

/// New text of an item.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Growth<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub item_id: &'a str,
    /// The field of the text.
    pub field: Field,
    pub delta: &'a str,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<DeltaMeta<'a>>,
}

/// The progress of an item.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub item_id: &'a str,
    /// The time since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// The progress, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The current activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
}

/// A notice.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoticeParams<'a> {
    pub thread_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<&'a str>,
    pub topic: Topic,
    pub level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// The agent's own name of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// The stage, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub detail: Option<&'a RawValue>,
}

/// Changes of the thread; unchanged fields are absent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUpdated<'a> {
    pub thread_id: &'a str,
    pub info: ThreadInfo<'a>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<UpdateMeta<'a>>,
}

/// Information about the thread from a new process of the agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateMeta<'a> {
    /// The agent's own session ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<&'a str>,
    /// The number of the agent's process in the thread, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
    /// What it resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<&'a Resumed>,
    /// Empty if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<&'a str>,
}

/// The history of a thread was sent; new messages follow.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayCompleted<'a> {
    pub thread_id: &'a str,
}

/// The agent's process ended. The thread can be resumed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadEnded<'a> {
    pub thread_id: &'a str,
    pub reason: EndReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub duration_ms: u64,
}

/// A request of the agent that is about neither a command nor file changes. The response is `{outcome, option?,
/// answers?, input?, message?}`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenRequest<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<&'a str>,
    pub request: &'a RequestOpened,
}

/// A request was resolved.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resolved<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub request_id: &'a str,
    pub outcome: Outcome,
    pub by: Decider,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: &'a BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
}

/// A request to run a command. The response is `{decision: "accept" | "decline"}`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandApproval<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    /// The item, or the ID of the request if the agent names none.
    pub item_id: &'a str,
    pub command: &'a str,
    pub cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    #[serde(rename = "_meta")]
    pub meta: ApprovalMeta<'a>,
}

/// A request to change files. The response is `{decision: "accept" | "acceptForSession" | "decline"}`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeApproval<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    /// The item, or the ID of the request if the agent names none.
    pub item_id: &'a str,
    pub changes: Vec<FileUpdateChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    #[serde(rename = "_meta")]
    pub meta: ApprovalMeta<'a>,
}

/// Additional information about the request.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalMeta<'a> {
    /// A one-line title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    /// The agent's name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'a str>,
    /// The input of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<&'a RawValue>,
    /// The options that the agent offers.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub options: &'a [RequestOption],
    /// Whether only a person may answer, and only for this request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// When the request is declined automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The subagent's thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// The item that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<&'a str>,
}
