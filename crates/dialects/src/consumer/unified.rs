//! Parses unified messages, from our own projection or any other source. Parsing is lenient: an unknown type is
//! `unknown`, a missing field is empty.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};

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

/// A piece of message content.
#[derive(Clone, Debug, PartialEq)]
pub enum UnifiedContent {
    /// Plain text.
    Text(String),
    /// A tool call.
    ToolUse {
        /// The call id.
        id: String,
        /// The tool name.
        name: String,
        /// The tool input.
        input: VerbatimJson,
    },
    ToolResult {
        /// The id of the call.
        tool_use_id: String,
        /// Text or content blocks.
        content: VerbatimJson,
        /// The tool failed.
        is_error: bool,
    },
    /// A code block.
    Code {
        /// The programming language.
        language: String,
        /// The source code.
        code: String,
    },
    /// An embedded image.
    Image {
        media_type: String,
        /// The data, base64-encoded.
        data: String,
    },
    /// Reasoning.
    Thinking {
        /// The reasoning text.
        thinking: String,
        /// The token budget for reasoning.
        budget_tokens: Option<u64>,
    },
    /// A refusal of the model.
    Refusal(String),
    /// A type that is not part of the protocol.
    Other {
        /// The type name.
        kind: String,
        /// The complete block.
        block: VerbatimJson,
    },
}

/// The content types in the order of the specification.
pub const CONTENT_TYPES: [&str; 7] = ["text", "tool_use", "tool_result", "thinking", "refusal", "code", "image"];

impl UnifiedContent {
    /// Reads a block; a bare string is text.
    #[must_use]
    pub fn read(block: &VerbatimJson) -> Self {
        if let Some(text) = block.read::<String>() {
            return Self::Text(text);
        }
        let fields: VerbatimFields = block.read().unwrap_or_default();
        let text = |name: &str| fields.get_text(name).unwrap_or_default();
        match text("type").as_str() {
            "text" => Self::Text(text("text")),
            "tool_use" => Self::ToolUse { id: text("id"), name: text("name"), input: tool_input(&fields) },
            "tool_result" => Self::ToolResult {
                tool_use_id: text("tool_use_id"),
                content: fields.get("content").cloned().unwrap_or_else(|| VerbatimJson::from_value(&"")),
                is_error: fields.is_true("is_error"),
            },
            "code" => Self::Code { language: text("language"), code: text("code") },
            "image" => read_image(&fields, block),
            "thinking" => Self::Thinking { thinking: text("thinking"), budget_tokens: fields.read("budget_tokens") },
            "refusal" => Self::Refusal(text("refusal")),
            kind => Self::unknown_block(kind, block),
        }
    }

    fn unknown_block(kind: &str, block: &VerbatimJson) -> Self {
        let kind = if kind.is_empty() { "unknown" } else { kind };
        Self::Other { kind: kind.to_owned(), block: block.clone() }
    }
}

/// Returns the tool input, which must be an object.
fn tool_input(fields: &VerbatimFields) -> VerbatimJson {
    fields.get("input").filter(|input| input.is_object()).cloned().unwrap_or_else(VerbatimJson::empty_object)
}

fn read_image(fields: &VerbatimFields, block: &VerbatimJson) -> UnifiedContent {
    let source: VerbatimFields = fields.read("source").unwrap_or_else(|| fields.clone());
    match (source.get_text("media_type"), source.get_text("data")) {
        (Some(media_type), Some(data)) => UnifiedContent::Image { media_type, data },
        _ => UnifiedContent::unknown_block("image", block),
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VerbatimJson(pub Box<RawValue>);

impl Default for VerbatimJson {
    fn default() -> Self {
        Self::empty_object()
    }
}

impl PartialEq for VerbatimJson {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl VerbatimJson {
    /// Serializes a value; `null` if it cannot be serialized.
    pub fn from_value(value: &impl Serialize) -> Self {
        Self(to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    #[must_use]
    fn empty_object() -> Self {
        Self::from_value(&VerbatimFields::default())
    }

    /// Returns whether this is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.get().starts_with('{')
    }

    /// Parses the JSON; none if it is of another type.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.0.get()).ok()
    }
}

impl JsonSchema for VerbatimJson {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

/// The fields of a JSON object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VerbatimFields(BTreeMap<String, VerbatimJson>);

impl VerbatimFields {
    /// Serializes a value to its fields; empty if it is not an object.
    pub fn from_value(value: &impl Serialize) -> Self {
        VerbatimJson::from_value(value).read().unwrap_or_default()
    }

    /// Returns a field verbatim.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&VerbatimJson> {
        self.0.get(name)
    }

    /// Parses a field; none if it is missing or of another type.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.get(name)?.read()
    }

    /// Returns a text field.
    #[must_use]
    pub fn get_text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    /// Returns the first non-empty text field of several; clients use different names for the same field.
    #[must_use]
    pub fn first_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.get_text(name).filter(|text| !text.is_empty()))
    }

    /// Returns whether a field is `true`.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.read(name).unwrap_or(false)
    }

    /// Returns the list entries of the given type; empty if the field is missing.
    #[must_use]
    pub fn get_list<T: DeserializeOwned>(&self, name: &str) -> Vec<T> {
        let all: Vec<VerbatimJson> = self.read(name).unwrap_or_default();
        all.iter().filter_map(VerbatimJson::read).collect()
    }

    /// Sets a field.
    pub fn insert(&mut self, name: &str, value: VerbatimJson) {
        self.0.insert(name.to_owned(), value);
    }

    /// Removes a field.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns all fields with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &VerbatimJson)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns whether there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonSchema for VerbatimFields {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Fields".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}
