//! Messages sent to consumers: session messages, numbered by `seq`, and unnumbered messages about the consumers
//! themselves.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    super::{
        State,
        unified::{VerbatimFields, VerbatimJson},
    },
    AssistantMessage, AuthStatus, ImageData, Permission, PermissionCancelled, ResultData, ToolProgress, ToolUseSummary,
    UserMessage,
};

/// A message with its place in the session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sequenced {
    /// The message.
    #[serde(flatten)]
    pub message: ServerMessage,
    /// Its number in the session, dense from 1: who comes back with the last one it saw gets each later one once. What
    /// concerns the consumers alone has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it happened: milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
}

impl From<ServerMessage> for Sequenced {
    fn from(message: ServerMessage) -> Self {
        Self { message, seq: None, timestamp: None }
    }
}

/// What consumers are told.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say what they are")]
pub enum ServerMessage {
    /// What the session is like: to a newcomer at once, to all when a run begins.
    SessionInit {
        session: Box<State>,
        /// The version of the protocol.
        protocol_version: u32,
        /// What the numbers of messages are good for; given back as `numbering`, it tells whether `after` still counts.
        #[serde(skip_serializing_if = "Option::is_none")]
        numbering: Option<String>,
    },
    /// What of the session is different now; `null` is gone.
    SessionUpdate {
        #[schemars(schema_with = "part_of_state")]
        session: VerbatimFields,
    },
    /// What the agent said, thought or called: whole.
    Assistant {
        message: Box<AssistantMessage>,
        #[schemars(schema_with = "text_or_null")]
        parent_tool_use_id: Option<String>,
    },
    /// What the agent is saying or thinking: a piece.
    StreamEvent {
        /// A piece as the protocol has it, or the agent's own event.
        #[schemars(with = "super::StreamPiece")]
        event: VerbatimJson,
        #[schemars(schema_with = "text_or_null")]
        parent_tool_use_id: Option<String>,
        /// What it is a piece of.
        #[serde(skip_serializing_if = "Option::is_none")]
        item_id: Option<String>,
    },
    /// A turn ended.
    Result { data: Box<ResultData> },
    /// The agent asks whether a tool may run.
    PermissionRequest { request: Box<Permission> },
    /// The agent asks something that is about no tool. It is answered like a permission.
    AgentRequest { request: Box<Permission> },
    /// What was asked needs no answer any more.
    PermissionCancelled(PermissionCancelled),
    /// A tool is going on.
    ToolProgress(Box<ToolProgress>),
    /// A tool came to its end.
    ToolUseSummary(Box<ToolUseSummary>),
    /// What the session is doing.
    StatusChange {
        /// `idle`, `running`, `requires_action`, `compacting` or `retrying`.
        #[schemars(schema_with = "text_or_null")]
        status: Option<String>,
        metadata: VerbatimFields,
    },
    /// Logging in.
    AuthStatus(AuthStatus),
    /// The session is set up differently.
    ConfigurationChange { subtype: String, metadata: VerbatimFields },
    /// Something happened to the session or to its history.
    SessionLifecycle { subtype: String, metadata: VerbatimFields },
    /// What the user said.
    UserMessage(UserMessage),
    /// The agent's process began to run.
    CliConnected {
        /// Which run of the session, from 1.
        run: u32,
    },
    /// The agent's process has ended. A prompt takes the session up again.
    CliDisconnected {
        /// How: `completed`, `failed`, `cancelled` or `timeout`.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The session has another title.
    SessionNameUpdate { name: String },
    /// The agent said which commands and models it has.
    CapabilitiesReady(CapabilitiesReady),
    /// A line that the agent's process printed beside its protocol.
    ProcessOutput { stream: Stream, data: String },
    /// Who you are.
    Identity(Consumer),
    /// Who is there.
    PresenceUpdate { consumers: Vec<Consumer> },
    /// What has happened.
    MessageHistory {
        #[schemars(schema_with = "message_list_schema")]
        messages: Vec<VerbatimJson>,
        /// There is more of it to come.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// A message waits for the turn to end.
    MessageQueued {
        consumer_id: String,
        display_name: String,
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageData>,
        /// Milliseconds since 1970.
        queued_at: i64,
    },
    /// The waiting message is another now.
    QueuedMessageUpdated {
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageData>,
    },
    /// The waiting message was taken back, or could not be sent.
    QueuedMessageCancelled {
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The waiting message was sent.
    QueuedMessageSent {},
    /// A slash command was taken.
    SlashCommandResult {
        command: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        content: String,
        source: SlashSource,
    },
    /// A slash command was not taken.
    SlashCommandError {
        command: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        error: String,
    },
    /// The session could not be taken up again.
    ResumeFailed {
        #[serde(rename = "sessionId")]
        session_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// What you sent was not done.
    Error {
        message: String,
        /// What went wrong, for programs. It stays the same.
        code: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// The type of what you sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        /// The `request_id` of what you sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
    },
}

/// Which commands and models an agent has.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapabilitiesReady {
    /// Its slash commands.
    pub commands: Vec<CommandOffer>,
    /// Its models.
    pub models: Vec<ModelOffer>,
    /// Whose account is used: agents do not say.
    #[schemars(schema_with = "text_or_null")]
    pub account: Option<String>,
    /// Its skills, where it tells them apart from commands.
    pub skills: Vec<String>,
}

/// A slash command.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct CommandOffer {
    pub name: String,
    pub description: String,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct ModelOffer {
    pub value: String,
    pub display_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Where a process prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say what they are")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Who answered a slash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlashSource {
    /// Switchboard, or what it makes of the agent's other operations.
    Emulated,
    /// The agent.
    Cli,
}

/// Somebody who is connected to the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Consumer {
    /// Its id: given back as `consumer`, it is the same one again.
    #[serde(rename = "userId")]
    pub user_id: String,
    /// What to call it.
    #[serde(rename = "displayName")]
    pub display_name: String,
    /// What it may do.
    pub role: Role,
    /// The same as `userId`.
    pub consumer_id: String,
    /// The same as `displayName`.
    pub name: String,
}

/// What a consumer may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    #[default]
    Participant,
    /// Look.
    Observer,
}

/// Schema of a text that the protocol writes as `null` if unknown; elsewhere `null` is never written.
pub fn text_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"oneOf": [{"type": "string"}, {"type": "null"}]})
}

/// Schema of a partial state, in which every field is optional and may be `null`.
fn part_of_state(generator: &mut SchemaGenerator) -> Schema {
    let mut state = State::json_schema(generator);
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
