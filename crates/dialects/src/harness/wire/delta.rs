//! Item deltas.

use schemars::JsonSchema;
use serde::Serialize;

use super::TurnId;

/// More text of an item; which text it is, the method says.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemDelta<'a> {
    pub thread_id: &'a str,
    pub turn_id: TurnId,
    pub item_id: &'a str,
    pub delta: &'a str,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<DeltaMeta<'a>>,
}

/// Whose text it is, if it is not the main agent's.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeltaMeta<'a> {
    /// The subagent's thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a str>,
    /// The item under which the subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_item_id: Option<&'a str>,
}
