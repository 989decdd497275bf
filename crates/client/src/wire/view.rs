//! Sessions as a server presents them, and lists of sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use switchboard_event::{EndReason, ErrorCode, Fault, Id, SessionConfig, Timestamp};

/// What became of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SessionState")]
pub enum SessionLifecycle {
    /// It is open.
    #[default]
    Running,
    /// It ended well.
    Done,
    /// It ended badly.
    Failed,
    /// Somebody ended it.
    Cancelled,
    /// A state that only a later server knows.
    #[serde(other)]
    #[schemars(skip)]
    Other,
}

impl SessionLifecycle {
    /// Returns whether the session has ended. A follow-up reopens it.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Other => "other",
        }
    }
}

/// What an open session is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Activity {
    /// The agent works.
    #[default]
    Running,
    /// The agent waits for an answer to a request.
    Waiting,
    /// The agent waits for a prompt.
    Idle,
    /// Something that only a later server knows.
    #[serde(other)]
    #[schemars(skip)]
    Other,
}

/// A session as clients see it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct SessionView {
    /// Its id.
    pub id: Id,
    /// What became of it.
    pub state: SessionLifecycle,
    /// What it is doing, while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// The agent.
    pub agent_type: String,
    /// The agent, by the name that older clients know.
    pub agent_id: String,
    /// What the work belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The first prompt.
    pub prompt: String,
    /// What to call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder that it works in.
    pub working_directory: String,
    /// How it is run. Values that are likely to be secrets are masked.
    pub config: SessionConfig,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the last event happened.
    pub updated_at: Timestamp,
    /// When it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How many turns it had.
    pub turns: u32,
    /// How many runs it had.
    pub runs: u32,
    /// How many events it has, which is also the `seq` of the last one.
    pub events: u64,
    /// How it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_reason")]
    pub reason: Option<EndReason>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_error")]
    pub error: Option<Fault>,
    /// The sandbox around its agent, while a confined session runs in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxView>,
    /// The process that answers runs it.
    pub here: bool,
    /// How many requests wait for an answer.
    pub approvals: usize,
    /// It is put away, so that lists need not show it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// The sandbox that is in force around a session's agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxView {
    /// The features of the kernel that enforce it.
    pub enforced: Vec<String>,
    /// Features that this machine lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Deserializes a reason; one that only a later server knows becomes `None`.
fn read_reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EndReason>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.and_then(|reason| serde_json::from_value(reason).ok()))
}

/// Deserializes an error: a text, an object with a message, or the format of another server.
fn read_error<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Fault>, D::Error> {
    let fault = |text: String| Fault::new(ErrorCode::default(), text);
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None => None,
        Some(Value::String(text)) => Some(fault(text)),
        Some(other) => serde_json::from_value(other.clone()).ok().or_else(|| {
            let message = other.get("message").and_then(Value::as_str);
            Some(fault(message.map_or_else(|| other.to_string(), str::to_owned)))
        }),
    })
}

/// A filter for sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    /// Sessions of this agent.
    pub agent: Option<String>,
    /// Sessions of this project.
    pub project: Option<String>,
    /// Sessions in this state.
    pub state: Option<SessionLifecycle>,
    /// Sessions with this text in the prompt or title.
    pub text: Option<String>,
    /// Sessions that work in this directory.
    pub cwd: Option<String>,
    /// The maximum number of results.
    pub limit: Option<u32>,
    /// The cursor from the previous page.
    pub before: Option<String>,
}

/// A page of sessions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "SessionList", !default)]
pub struct SessionPage {
    /// The sessions, newest first.
    pub sessions: Vec<SessionView>,
    /// What `before` must be for the next page; not there if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{SessionLifecycle, SessionView};

    #[test]
    fn little_is_enough_for_a_view() {
        let view: SessionView = serde_json::from_str(r#"{"id":"1","state":"done"}"#).unwrap();
        assert_eq!((&*view.id, view.state), ("1", SessionLifecycle::Done));
        let view: SessionView = serde_json::from_str(r#"{"id":"1","state":"resting","new":{},"error":null}"#).unwrap();
        assert_eq!((view.state, view.error.is_none()), (SessionLifecycle::Other, true));
        let both = r#"{"agentType":"a","agentId":"a","error":{"code":"unknown","message":"m"},"reason":"failed"}"#;
        assert_eq!(serde_json::from_str::<SessionView>(both).unwrap().agent_type, "a");
        let error = |text: &str| serde_json::from_str::<SessionView>(text).unwrap().error.unwrap().message;
        assert_eq!(error(r#"{"error":"boom"}"#), "boom");
        assert_eq!(error(r#"{"error":{"code":"x","message":"boom"}}"#), "boom");
    }
}
