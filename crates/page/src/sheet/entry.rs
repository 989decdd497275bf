//! An entry as the page gets it.

use serde::Serialize;
use switchboard_event::{About, Id, Question, RequestOption, Timestamp};

use crate::Html;

/// One thing in a session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its place, from 0.
    pub n: u32,
    /// Its id.
    pub id: Id,
    /// What it is.
    pub kind: &'static str,
    /// How far it got.
    pub status: &'static str,
    /// How many subagents it is within.
    pub depth: u8,
    /// The entry of the innermost of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// The turn that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// When it began.
    pub at: Timestamp,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// A line that says what it is.
    pub title: Html,
    /// A few words behind that, plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// All of it, as far as it is shown and finished.
    pub html: Html,
    /// What is not finished, as text; goes behind the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
    /// It is shown folded at first.
    pub fold: bool,
    /// Its first event.
    pub first: u64,
    /// Its latest event.
    pub last: u64,
    /// About how many lines it has.
    pub size: u32,
    /// Which text of it grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<&'static str>,
    /// There is more than is shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Asked>,
}

/// What an agent asks, and how it can be answered.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// The id to answer to.
    pub id: Id,
    /// What it is about.
    pub about: About,
    /// It waits for an answer.
    pub open: bool,
    /// The answers that the agent offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<RequestOption>,
    /// The questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Only a person may answer: yes is never preselected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// When the answer is no by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}
