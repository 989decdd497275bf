//! A unified message, read back: from our own projection, or from anybody who writes such messages. Reading is
//! lenient: an unknown type is `unknown`, a missing field is empty.

mod content;
mod fields;

pub use content::{CONTENT_TYPES, Content};
pub use fields::{Fields, Json};

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Unified {
    /// Its id.
    pub id: String,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// What it is.
    pub kind: MessageType,
    /// What it says.
    pub content: Vec<Content>,
    /// What is known about it.
    pub metadata: Fields,
    /// The message with the tool call that it belongs to.
    pub parent_id: Option<String>,
}

/// The types of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the protocol's, and `route.rs` says what becomes of each")]
pub enum MessageType {
    SessionInit,
    StatusChange,
    Assistant,
    Result,
    StreamEvent,
    PermissionRequest,
    ControlResponse,
    ToolProgress,
    ToolUseSummary,
    AuthStatus,
    ConfigurationChange,
    SessionLifecycle,
    UserMessage,
    PermissionResponse,
    Interrupt,
    TeamMessage,
    TeamTaskUpdate,
    TeamStateChange,
    Unknown,
}

impl MessageType {
    /// All nineteen, in the order of the specification.
    pub const ALL: [(Self, &'static str); 19] = [
        (Self::SessionInit, "session_init"),
        (Self::StatusChange, "status_change"),
        (Self::Assistant, "assistant"),
        (Self::Result, "result"),
        (Self::StreamEvent, "stream_event"),
        (Self::PermissionRequest, "permission_request"),
        (Self::ControlResponse, "control_response"),
        (Self::ToolProgress, "tool_progress"),
        (Self::ToolUseSummary, "tool_use_summary"),
        (Self::AuthStatus, "auth_status"),
        (Self::ConfigurationChange, "configuration_change"),
        (Self::SessionLifecycle, "session_lifecycle"),
        (Self::UserMessage, "user_message"),
        (Self::PermissionResponse, "permission_response"),
        (Self::Interrupt, "interrupt"),
        (Self::TeamMessage, "team_message"),
        (Self::TeamTaskUpdate, "team_task_update"),
        (Self::TeamStateChange, "team_state_change"),
        (Self::Unknown, "unknown"),
    ];

    /// The type of this name; `unknown` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == name).map_or(Self::Unknown, |(kind, _)| *kind)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("unknown", |(_, name)| name)
    }
}

impl Unified {
    /// Reads a message; nothing if it is not a JSON object.
    #[must_use]
    pub fn read(json: &[u8]) -> Option<Self> {
        let fields: Fields = serde_json::from_slice(json).ok()?;
        let kind = MessageType::named(&fields.text("type").unwrap_or_default());
        let blocks: Vec<Json> = match fields.get("content") {
            Some(content) => content.read().unwrap_or_else(|| vec![content.clone()]),
            None => Vec::new(),
        };
        Some(Self {
            id: fields.text("id").unwrap_or_default(),
            timestamp: fields.read("timestamp").unwrap_or_default(),
            kind,
            content: blocks.iter().map(Content::read).collect(),
            metadata: fields.read("metadata").unwrap_or_default(),
            parent_id: fields.text("parentId"),
        })
    }

    /// All text that it says.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text(text) | Content::Refusal(text) => Some(text.as_str()),
            _ => None,
        });
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The tool call below which it happened.
    #[must_use]
    pub fn parent_tool(&self) -> Option<String> {
        self.metadata.text("parent_tool_use_id")
    }
}
