//! Switchboard's extension methods. Their contents use the terms of the event model.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Decider, EndReason, Field, Level, Outcome, RequestOpened, Resumed, Topic};

use super::{DeltaMeta, ThreadInfo, TurnError, TurnId};

/// More text of an item.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Growth<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub item_id: &'a str,
    /// Which text.
    pub field: Field,
    pub delta: &'a str,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<DeltaMeta<'a>>,
}

/// An item is still going on.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub item_id: &'a str,
    /// For how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// How far, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// What it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
}

/// Something to know.
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
    /// The native name of what happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// How far it got, where it has stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub detail: Option<&'a RawValue>,
}

/// Something about the thread changed; only what changed is there.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUpdated<'a> {
    pub thread_id: &'a str,
    pub info: ThreadInfo<'a>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<UpdateMeta<'a>>,
}

/// What a process of the agent that has begun says about the thread.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateMeta<'a> {
    /// The agent's own id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<&'a str>,
    /// Which process of the thread, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
    /// What it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<&'a Resumed>,
    /// Empty where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<&'a str>,
}

/// All that has happened in a thread is told; what follows happens now.
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

/// The agent waits for an answer to something that is neither a command nor a change of files. The response is
/// `{outcome, option?, answers?, input?, message?}`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenRequest<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<&'a str>,
    pub request: &'a RequestOpened,
}

/// A request needs no answer any more.
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
