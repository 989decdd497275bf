//! Messages of both directions. Fields of the protocol are always present; Switchboard's additions are omitted if
//! unknown.

mod client;
mod messages;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::consumer::{
    ConsumerState,
    unified::{VerbatimFields, VerbatimJson},
};

pub use client::{
    Behavior, CLIENT_TYPES, ClientMessage, ImageData, Permission, PermissionAnswer, PermissionCancelled, SetAdapter,
    SetModel, SetPermissionMode, SlashCommand, UserInput,
};
pub use messages::{
    AssistantMessage, AuthStatus, Delta, MemberStatus, ResultData, ResultSubtype, StreamPiece, TaskStatus, Team,
    TeamMember, TeamMessage, TeamTask, Tokens, ToolProgress, ToolUseSummary, TurnTokens, UserMessage,
};

/// A message with its number in the session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sequenced {
    /// The message.
    #[serde(flatten)]
    pub message: ServerMessage,
    /// The number in the session, from 1 without gaps: a client that reconnects with the last one gets each later
    /// message once. Messages about consumers have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The time of the event, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
}

impl From<ServerMessage> for Sequenced {
    fn from(message: ServerMessage) -> Self {
        Self { message, seq: None, timestamp: None }
    }
}

/// A message to consumers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerMessage {
    /// The state of the session: sent first to new consumers, and to all when a run starts.
    SessionInit {
        session: Box<ConsumerState>,
        /// The version of the protocol.
        protocol_version: u32,
        /// Identifies the numbering of messages; sent back as `numbering`, it shows whether `after` is still valid.
        #[serde(skip_serializing_if = "Option::is_none")]
        numbering: Option<String>,
    },
    /// The changed fields of the state; removed fields are `null`.
    SessionUpdate {
        #[schemars(schema_with = "part_of_state")]
        session: VerbatimFields,
    },
    /// A complete message, reasoning text or tool call of the agent.
    Assistant {
        message: Box<AssistantMessage>,
        #[schemars(schema_with = "text_or_null")]
        parent_tool_use_id: Option<String>,
    },
    /// New text of a message or of reasoning.
    StreamEvent {
        /// An event of the protocol, or the agent's own event.
        #[schemars(with = "messages::StreamPiece")]
        event: VerbatimJson,
        #[schemars(schema_with = "text_or_null")]
        parent_tool_use_id: Option<String>,
        /// The item that the text belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        item_id: Option<String>,
    },
    /// A turn has ended.
    Result { data: Box<ResultData> },
    /// The agent requests permission to run a tool.
    PermissionRequest { request: Box<Permission> },
    /// The agent sends a request that is not about a tool. It is answered like a permission request.
    AgentRequest { request: Box<Permission> },
    /// A request was resolved.
    PermissionCancelled(PermissionCancelled),
    /// The progress of a tool.
    ToolProgress(Box<ToolProgress>),
    /// A tool has ended.
    ToolUseSummary(Box<ToolUseSummary>),
    /// The activity of the session.
    StatusChange {
        /// `idle`, `running`, `requires_action`, `compacting` or `retrying`.
        #[schemars(schema_with = "text_or_null")]
        status: Option<String>,
        metadata: VerbatimFields,
    },
    /// The progress of a login.
    AuthStatus(AuthStatus),
    /// The configuration of the session has changed.
    ConfigurationChange { subtype: String, metadata: VerbatimFields },
    /// A change of the session or its history.
    SessionLifecycle { subtype: String, metadata: VerbatimFields },
    /// A message of the user.
    UserMessage(UserMessage),
    /// The agent's process has started.
    CliConnected {
        /// The number of the run, from 1.
        run: u32,
    },
    /// The agent's process has ended. A prompt resumes the session.
    CliDisconnected {
        /// The reason: `completed`, `failed`, `cancelled` or `timeout`.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The title of the session has changed.
    SessionNameUpdate { name: String },
    /// The agent has reported its commands and models.
    CapabilitiesReady(CapabilitiesReady),
    /// A line of the agent's process that is not part of its protocol.
    ProcessOutput { stream: Stream, data: String },
    /// The identity of this consumer.
    Identity(Consumer),
    /// The connected consumers.
    PresenceUpdate { consumers: Vec<Consumer> },
    /// A part of the history.
    MessageHistory {
        #[schemars(schema_with = "message_list_schema")]
        messages: Vec<VerbatimJson>,
        /// Whether more history follows.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// A prompt was queued until the turn ends.
    MessageQueued {
        consumer_id: String,
        display_name: String,
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageData>,
        /// Milliseconds since 1970.
        queued_at: i64,
    },
    /// The queued prompt was changed.
    QueuedMessageUpdated {
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageData>,
    },
    /// The queued prompt was cancelled, or could not be sent.
    QueuedMessageCancelled {
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The queued prompt was sent.
    QueuedMessageSent {},
    /// A slash command was accepted.
    SlashCommandResult {
        command: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        content: String,
        source: SlashSource,
    },
    /// A slash command was refused.
    SlashCommandError {
        command: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        error: String,
    },
    /// The connection cannot continue after the last message seen.
    ResumeFailed {
        #[serde(rename = "sessionId")]
        session_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A message of this consumer was refused.
    Error {
        message: String,
        /// Identifies the error for programs. Codes are stable.
        code: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// The type of the refused message.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        /// The `request_id` of the refused message.
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
    },
}

/// The commands and models of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapabilitiesReady {
    /// The slash commands.
    pub commands: Vec<CommandOffer>,
    /// The models.
    pub models: Vec<ModelOffer>,
    /// The account; never reported by agents.
    #[schemars(schema_with = "text_or_null")]
    pub account: Option<String>,
    /// The skills, if the agent distinguishes them from commands.
    pub skills: Vec<String>,
}

/// A slash command.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CommandOffer {
    pub name: String,
    pub description: String,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelOffer {
    pub value: String,
    pub display_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The output stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Who handled a slash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlashSource {
    /// Switchboard, with other operations of the agent.
    Emulated,
    /// The agent.
    Cli,
}

/// A consumer that is connected to the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Consumer {
    /// The ID; sent back as `consumer`, it identifies the same consumer again.
    #[serde(rename = "userId")]
    pub user_id: String,
    /// The display name.
    #[serde(rename = "displayName")]
    pub display_name: String,
    /// The permitted actions.
    pub role: Role,
    /// The same as `userId`.
    pub consumer_id: String,
    /// The same as `displayName`.
    pub name: String,
}

/// The permitted actions of a consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    #[default]
    Participant,
    /// Reading only.
    Observer,
}

/// Schema of a text that the protocol writes as `null` if unknown; elsewhere `null` is never written.
fn text_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"oneOf": [{"type": "string"}, {"type": "null"}]})
}

/// Schema of a partial state, in which every field is optional and may be `null`.
fn part_of_state(generator: &mut SchemaGenerator) -> Schema {
    let mut state = ConsumerState::json_schema(generator);
    state.remove("required");
    state.insert("title".to_owned(), "StateUpdate".into());
    state.insert("description".to_owned(), "What is different now.".into());
    if let Some(Value::Object(fields)) = state.get_mut("properties") {
        for field in fields.values_mut() {
            // A removed field is `null`. `oneOf` keeps the `null`, which is stripped from `anyOf`.
            let about = field.as_object_mut().and_then(|field| field.remove("description")).unwrap_or_default();
            *field = serde_json::json!({"description": about, "oneOf": [field.take(), {"type": "null"}]});
        }
    }
    state
}

/// Schema of a list of past messages.
fn message_list_schema(generator: &mut SchemaGenerator) -> Schema {
    let message = generator.subschema_for::<Sequenced>();
    json_schema!({"type": "array", "items": message})
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text { text: String },
    /// A tool call.
    ToolUse {
        id: String,
        name: String,
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        input: VerbatimJson,
    },
    /// The result of a tool.
    ToolResult {
        tool_use_id: String,
        #[schemars(schema_with = "text_or_blocks")]
        content: VerbatimJson,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// Reasoning.
    Thinking {
        thinking: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        budget_tokens: Option<u64>,
    },
    /// Code.
    Code { language: String, code: String },
    /// The bytes of an image, as base64.
    Image { media_type: String, data: String },
    /// A refusal of the model.
    Refusal { refusal: String },
}

fn text_or_blocks(generator: &mut SchemaGenerator) -> Schema {
    let blocks = generator.subschema_for::<Vec<Block>>();
    json_schema!({"oneOf": [{"type": "string"}, blocks]})
}
