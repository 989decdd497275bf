//! Parses unified messages, from our own projection or any other source. Parsing is lenient: an unknown type is
//! `unknown`, a missing field is empty.

mod content;
mod fields;

pub use content::{CONTENT_TYPES, UnifiedContent};
pub use fields::{VerbatimFields, VerbatimJson};

/// A unified message.
#[derive(Clone, Debug, PartialEq)]
pub struct UnifiedMessage {
    /// The message id.
    pub id: String,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// The message type.
    pub kind: UnifiedMessageType,
    /// The content blocks.
    pub content: Vec<UnifiedContent>,
    /// The metadata fields.
    pub metadata: VerbatimFields,
    /// The message with the parent tool call.
    pub parent_id: Option<String>,
}

/// The message types of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the protocol's, and `route.rs` says what becomes of each")]
pub enum UnifiedMessageType {
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

impl UnifiedMessageType {
    /// All nineteen types in the order of the specification.
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

    /// Returns the type with this name, or `unknown`.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == name).map_or(Self::Unknown, |(kind, _)| *kind)
    }

    /// Returns the protocol's name of the type.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("unknown", |(_, name)| name)
    }
}

impl UnifiedMessage {
    /// Parses a message; none if it is not a JSON object.
    #[must_use]
    pub fn read(json: &[u8]) -> Option<Self> {
        let fields: VerbatimFields = serde_json::from_slice(json).ok()?;
        let kind = UnifiedMessageType::from_name(&fields.get_text("type").unwrap_or_default());
        let blocks: Vec<VerbatimJson> = match fields.get("content") {
            Some(content) => content.read().unwrap_or_else(|| vec![content.clone()]),
            None => Vec::new(),
        };
        Some(Self {
            id: fields.get_text("id").unwrap_or_default(),
            timestamp: fields.read("timestamp").unwrap_or_default(),
            kind,
            content: blocks.iter().map(UnifiedContent::read).collect(),
            metadata: fields.read("metadata").unwrap_or_default(),
            parent_id: fields.get_text("parentId"),
        })
    }

    /// Returns all text of the message.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            UnifiedContent::Text(text) | UnifiedContent::Refusal(text) => Some(text.as_str()),
            _ => None,
        });
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Returns the id of the tool call that the message belongs to.
    #[must_use]
    pub fn parent_tool_use_id(&self) -> Option<String> {
        self.metadata.get_text("parent_tool_use_id")
    }
}
