//! Entries as the page receives them.

use serde::Serialize;
use switchboard_event::{About, Id, Question, RequestOption, Timestamp};

use crate::SafeHtml;

/// An entry of the timeline.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineEntry {
    /// The position, from 0.
    pub n: u32,
    pub id: Id,
    pub kind: &'static str,
    pub status: &'static str,
    /// The number of enclosing subagents.
    pub depth: u8,
    /// The entry of the innermost subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The start time.
    pub at: Timestamp,
    /// The duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// The title, one line.
    pub title: SafeHtml,
    /// A few words after the title, plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The finished content, possibly cut.
    pub html: SafeHtml,
    /// The unfinished text, shown after the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
    /// Whether it is initially folded.
    pub fold: bool,
    pub first: u64,
    pub last: u64,
    /// The approximate number of lines.
    pub size: u32,
    /// The format of the growing text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<&'static str>,
    /// Whether the content was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<EntryRequest>,
}

/// A request of the agent and the possible answers.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryRequest {
    pub id: Id,
    pub about: About,
    /// Whether it waits for an answer.
    pub open: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<RequestOption>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Only a person may answer: an approval is never preselected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// The time at which the request is declined automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}
