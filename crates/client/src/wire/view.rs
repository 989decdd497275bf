//! A session as a server shows it, and lists of them.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use switchboard_event::{EndReason, Id, SessionConfig, Timestamp};

/// What has become of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionState {
    /// It goes on: it works, waits for an answer, or waits for a prompt.
    #[default]
    Running,
    /// It ended well.
    Done,
    /// It ended badly.
    Failed,
    /// Somebody ended it.
    Cancelled,
    /// Something that a later server knows.
    #[serde(other)]
    Other,
}

impl SessionState {
    /// It has ended. A follow-up opens it again.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// Its name on the wire.
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

/// What a session that goes on is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Activity {
    /// The agent works.
    #[default]
    Running,
    /// The agent waits for an answer.
    Waiting,
    /// The agent waits for a prompt.
    Idle,
    /// Something that a later server knows.
    #[serde(other)]
    Other,
}

/// A session as a server shows it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionView {
    /// Its id.
    pub id: Id,
    /// What has become of it.
    pub state: SessionState,
    /// What it is doing, while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// The agent.
    pub agent_type: String,
    /// What the work belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The first prompt.
    pub prompt: String,
    /// What to call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder that it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// Its settings.
    pub config: SessionConfig,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When something last happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How many turns it had.
    pub turns: u32,
    /// How many processes it had.
    pub runs: u32,
    /// The `seq` of its last event.
    pub events: u64,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub reason: Option<EndReason>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "message")]
    pub error: Option<String>,
    /// The process that answers runs it.
    pub here: bool,
    /// How many approvals are open.
    pub approvals: u64,
}

/// A reason that a later server knows is none here.
fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EndReason>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.and_then(|reason| serde_json::from_value(reason).ok()))
}

/// An error is a text, or an object that has one.
fn message<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => {
            Some(other.get("message").and_then(Value::as_str).map_or_else(|| other.to_string(), str::to_owned))
        }
    })
}

/// Which sessions are wanted.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    /// Of this agent.
    pub agent: Option<String>,
    /// Of this project.
    pub project: Option<String>,
    /// In this state.
    pub state: Option<SessionState>,
    /// With these words in prompt or title.
    pub text: Option<String>,
    /// That work in this folder.
    pub cwd: Option<String>,
    /// At most so many.
    pub limit: Option<u32>,
    /// The page after the one that said so.
    pub before: Option<String>,
}

/// Some sessions, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionView>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::{SessionState, SessionView};

    #[test]
    fn little_is_enough_for_a_view() {
        let view: SessionView = serde_json::from_str(r#"{"id":"1","state":"done"}"#).unwrap();
        assert_eq!((&*view.id, view.state), ("1", SessionState::Done));
        let view: SessionView = serde_json::from_str(r#"{"id":"1","state":"resting","new":{},"error":null}"#).unwrap();
        assert_eq!((view.state, view.error), (SessionState::Other, None));
        let both = r#"{"agentType":"a","agentId":"a","error":{"code":"unknown","message":"m"},"reason":"failed"}"#;
        assert_eq!(serde_json::from_str::<SessionView>(both).unwrap().agent_type, "a");
        let error = |text: &str| serde_json::from_str::<SessionView>(text).unwrap().error.unwrap();
        assert_eq!(error(r#"{"error":"boom"}"#), "boom");
        assert_eq!(error(r#"{"error":{"code":"x","message":"boom"}}"#), "boom");
    }
}
