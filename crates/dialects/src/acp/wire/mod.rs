//! Messages of the Agent Client Protocol, version 1, sent by an agent. Client messages are not defined here.

mod extension;
mod update;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use extension::{
    Failure, MessageRetracted, Meta, RequestResolved, SessionEnded, SessionStarted, SubagentRole, SubagentSaid,
    SwitchboardMeta, TerminalExit, TerminalInfo, TerminalOutput, TokenUsage, TurnCompleted, TurnStarted,
};
pub use update::{
    Chunk, CompactionStatus, Cost, Diff, Entry, EntryStatus, Location, Priority, SessionUpdate, Severity, StopReason,
    ToolCall, ToolContent, ToolFields, ToolKind, ToolStatus, ToolUpdate, Update,
};

/// The version of JSON-RPC.
#[derive(Serialize, JsonSchema)]
pub enum Version {
    /// The only one.
    #[serde(rename = "2.0")]
    Two,
}

/// A message that needs no response.
#[derive(Serialize, JsonSchema)]
pub struct Notification<'a> {
    jsonrpc: Version,
    #[serde(flatten)]
    method: Method<'a>,
}

impl<'a> Notification<'a> {
    pub fn new(method: Method<'a>) -> Self {
        Self { jsonrpc: Version::Two, method }
    }
}

/// What is told.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", content = "params")]
pub enum Method<'a> {
    /// The session goes on.
    #[serde(rename = "session/update")]
    Update(Box<SessionUpdate<'a>>),
    /// Ours: a run of the agent began.
    #[serde(rename = "_switchboard/session_started")]
    SessionStarted(SessionStarted<'a>),
    /// Ours: a run of the agent ended.
    #[serde(rename = "_switchboard/session_ended")]
    SessionEnded(SessionEnded<'a>),
    /// Ours: a turn began.
    #[serde(rename = "_switchboard/turn_started")]
    TurnStarted(TurnStarted<'a>),
    /// Ours: a turn ended; what the response to `session/prompt` says.
    #[serde(rename = "_switchboard/turn_completed")]
    TurnCompleted(TurnCompleted<'a>),
    /// Ours: a request needs no answer any more.
    #[serde(rename = "_switchboard/request_resolved")]
    RequestResolved(RequestResolved<'a>),
    /// Ours: the agent took back the text of a message or of a thought.
    #[serde(rename = "_switchboard/message_retracted")]
    MessageRetracted(MessageRetracted<'a>),
    /// Ours: what a subagent said, thought or was told.
    #[serde(rename = "_switchboard/subagent")]
    Subagent(SubagentSaid<'a>),
}

/// A message that waits for a response with the same `id`.
#[derive(Serialize, JsonSchema)]
pub struct Request<'a> {
    jsonrpc: Version,
    id: Cow<'a, str>,
    #[serde(flatten)]
    request: ClientRequest<'a>,
}

/// A request to the client.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "method", content = "params")]
enum ClientRequest<'a> {
    #[serde(rename = "session/request_permission")]
    Permission(Box<Permission<'a>>),
    #[serde(rename = "elicitation/create")]
    Elicitation(Elicitation<'a>),
}

impl<'a> Request<'a> {
    /// Creates a permission request.
    pub fn for_permission(id: Cow<'a, str>, permission: Permission<'a>) -> Self {
        Self { jsonrpc: Version::Two, id, request: ClientRequest::Permission(Box::new(permission)) }
    }

    /// Creates a form request.
    pub fn for_elicitation(id: Cow<'a, str>, elicitation: Elicitation<'a>) -> Self {
        Self { jsonrpc: Version::Two, id, request: ClientRequest::Elicitation(elicitation) }
    }
}

/// A block of content.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content<'a> {
    /// Text, which may be Markdown.
    Text(Text<'a>),
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Its bytes as base64.
        data: &'a str,
        /// Its media type.
        mime_type: &'a str,
        /// Where it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<&'a str>,
    },
    /// A file that is named and not given.
    #[serde(rename_all = "camelCase")]
    ResourceLink {
        /// What it is called.
        name: &'a str,
        /// Where it is.
        uri: &'a str,
        /// Its media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<&'a str>,
    },
}

/// Text, which may be Markdown.
#[derive(Serialize, JsonSchema)]
pub struct Text<'a> {
    /// The text.
    pub text: Cow<'a, str>,
}

pub fn text_content<'a>(text: impl Into<Cow<'a, str>>) -> Content<'a> {
    Content::Text(Text { text: text.into() })
}

impl<'a> Content<'a> {
    /// Converts a content piece of the event model; none if the protocol cannot express it.
    pub fn from_piece(piece: &'a switchboard_event::Content) -> Option<Self> {
        use switchboard_event::ContentType;
        let (said, url) = (piece.text.as_deref(), piece.url.as_deref());
        let mime_type = piece.media_type.as_deref();
        match (piece.kind, &piece.data, url) {
            (ContentType::Image, Some(data), uri) => {
                Some(Self::Image { data, mime_type: mime_type.unwrap_or("image/png"), uri })
            }
            (ContentType::Image | ContentType::File, _, Some(uri)) => {
                Some(Self::ResourceLink { name: said.unwrap_or(uri), uri, mime_type })
            }
            _ => said.map(text_content),
        }
    }
}

/// The modes, and the one that it is in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Modes {
    /// The mode that it is in.
    pub current_mode_id: String,
    /// All modes.
    pub available_modes: Vec<Mode>,
}

/// A mode.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Mode {
    /// What to set.
    pub id: String,
    /// What to show.
    pub name: String,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A setting with a list of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// What to set.
    pub id: String,
    /// What to show.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where a client shows it; anywhere, if that is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// It is chosen from a list.
    #[serde(rename = "type")]
    pub kind: Select,
    /// The value that it has.
    pub current_value: String,
    /// The values to choose from.
    pub options: Vec<ConfigValue>,
}

/// How a setting is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// By choosing from a list.
    #[default]
    Select,
}

/// Where a client shows a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Where modes are.
    Mode,
    /// Where models are.
    Model,
    /// In addition to the model.
    ModelConfig,
    /// Where it is said how much to think.
    ThoughtLevel,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigValue {
    /// What to set.
    pub value: String,
    /// What to show.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A slash command.
#[derive(Serialize, JsonSchema)]
pub struct Command<'a> {
    /// Its name, without the slash.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
}

/// May the agent do this?
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permission<'a> {
    /// The session.
    pub session_id: &'a str,
    /// What it would do.
    pub tool_call: ToolUpdate<'a>,
    /// The answers to choose from.
    pub options: Vec<PermissionOption<'a>>,
}

/// One answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption<'a> {
    /// What is sent back.
    pub option_id: Cow<'a, str>,
    /// What is shown.
    pub name: Cow<'a, str>,
    /// What it means.
    pub kind: OptionKind,
}

/// What an answer means.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Yes, this once.
    AllowOnce,
    /// Yes, and the like from now on.
    AllowAlways,
    /// No.
    RejectOnce,
}

/// A form for the user to fill in.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Elicitation<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The tool call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
    /// It is a form.
    pub mode: Form,
    /// What it is about.
    pub message: Cow<'a, str>,
    /// Its fields.
    pub requested_schema: Fields<'a>,
}

/// How the user is asked.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// With a form.
    Form,
}

/// The fields of a form.
#[derive(Serialize, JsonSchema)]
pub struct Fields<'a> {
    /// It is an object.
    #[serde(rename = "type")]
    pub kind: Object,
    /// The fields by name.
    pub properties: BTreeMap<String, Property<'a>>,
    /// Those that must be filled in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<&'a str>,
}

/// What all fields together are.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Object {
    /// An object.
    Object,
}

/// A field of a form.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Property<'a> {
    /// One value or several.
    #[serde(rename = "type")]
    pub kind: PropertyType,
    /// A word or two above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// The values to choose one from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<EnumOption<'a>>,
    /// The values to choose several from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Items<'a>>,
}

/// One value or several.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PropertyType {
    /// One.
    String,
    /// Several.
    Array,
}

/// The values to choose several from.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Items<'a> {
    /// The values.
    pub any_of: Vec<EnumOption<'a>>,
}

/// A value to choose.
#[derive(Serialize, JsonSchema)]
pub struct EnumOption<'a> {
    /// What is sent back.
    #[serde(rename = "const")]
    pub value: &'a str,
    /// What is shown.
    pub title: &'a str,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
}
