//! Items, the parts of a turn: a message, reasoning, a command, a file change, a tool call.

mod details;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::Id;

pub use details::{
    AgentMessage, Change, ChangeKind, Command, FileChange, Mcp, Plan, PlanEntry, PlanStatus, Reasoning, Subagent, Tool,
    Unknown, UserMessage, WebSearch,
};

/// One item. Fields that all items have, and [`Details`] by type.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Item {
    /// The status.
    pub status: Status,
    /// The model reply that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Id>,
    /// The model that gave it, where that may be another than the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The tool call behind it, where the agent called a tool by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Call>>,
    /// What it is.
    #[serde(flatten)]
    pub details: Details,
}

impl Item {
    /// Creates a running item with only its details.
    #[must_use]
    pub fn new(details: impl Into<Details>) -> Self {
        Self {
            status: Status::Running,
            reply: None,
            model: None,
            duration_ms: None,
            call: None,
            details: details.into(),
        }
    }

    /// Sets the tool call behind the item.
    #[must_use]
    pub fn with_call(mut self, call: Call) -> Self {
        self.call = Some(Box::new(call));
        self
    }

    /// Sets the status.
    #[must_use]
    pub fn with_status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `flatten` and tagged enums cannot hold verbatim JSON, so the text is parsed once for each half.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let common: CommonItemFields = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        let details = Details::parse_tagged(&common.kind, text.get()).map_err(D::Error::custom)?;
        let CommonItemFields { status, reply, model, duration_ms, call, .. } = common;
        Ok(Self { status, reply, model, duration_ms, call, details })
    }
}

#[derive(Deserialize)]
struct CommonItemFields {
    #[serde(rename = "type")]
    kind: String,
    status: Status,
    reply: Option<Id>,
    model: Option<String>,
    duration_ms: Option<u64>,
    call: Option<Box<Call>>,
}

/// How far an item got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is being worked on.
    #[default]
    Running,
    /// It is finished.
    Completed,
    /// It was tried and did not work.
    Failed,
    /// It was not allowed.
    Declined,
    /// It was stopped, or nothing more was heard of it.
    Interrupted,
    /// Another item took its place.
    Superseded,
}

macro_rules! details {
    ($($(#[$doc:meta])* $name:ident = $tag:literal),* $(,)?) => {
        /// What an item is.
        #[derive(Clone, Debug, Serialize, JsonSchema)]
        #[serde(tag = "type")]
        pub enum Details { $($(#[$doc])* #[serde(rename = $tag)] $name($name)),* }

        impl Details {
            /// Returns the name of the type on the wire.
            #[must_use]
            pub fn type_tag(&self) -> &'static str {
                match self { $(Self::$name(_) => $tag),* }
            }

            fn parse_tagged(tag: &str, text: &str) -> serde_json::Result<Self> {
                match tag {
                    $($tag => serde_json::from_str(text).map(Self::$name),)*
                    _ => Err(serde_json::Error::custom(format_args!("unknown item type `{tag}`"))),
                }
            }
        }

        $(impl From<$name> for Details { fn from(details: $name) -> Self { Self::$name(details) } })*
    };
}

details! {
    /// A message of the user, or on behalf of the user.
    UserMessage = "user_message",
    /// A message of the agent.
    AgentMessage = "agent_message",
    /// Reasoning of the agent.
    Reasoning = "reasoning",
    /// A shell command.
    Command = "command",
    /// File changes.
    FileChange = "file_change",
    /// A call of an MCP tool.
    Mcp = "mcp",
    /// A web search.
    WebSearch = "web_search",
    /// A plan, or a list of things to do.
    Plan = "plan",
    /// Another agent, working for this one.
    Subagent = "subagent",
    /// Any other tool.
    Tool = "tool",
    /// Something that is not known.
    Unknown = "unknown",
}

/// A call of a tool: what every protocol needs to show it without knowing the agent's tools.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The agent's name of the tool.
    pub name: String,
    /// A one-line title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of tool.
    #[serde(default)]
    pub kind: CallKind,
    /// The operation on a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<FileOp>,
    /// What it was given, verbatim; an object wherever the agent gives one.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub input: Option<Box<RawValue>>,
    /// The file locations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// Output other than text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Content>,
    /// Why it failed or was not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the agent shows people of what it gave back, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// What a program that it ran ended with; that of a command is in its details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The effect in a team of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
    /// The agent writes the call as a block of the model's message, not as a record of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_block: bool,
}

/// The kind of tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// Reads.
    Read,
    /// Changes files.
    Edit,
    /// Deletes files.
    Delete,
    /// Moves files.
    Move,
    /// Searches.
    Search,
    /// Runs something.
    Execute,
    /// Thinks or plans.
    Think,
    /// Fetches from the network.
    Fetch,
    /// Changes the agent's mode.
    Mode,
    /// Does something else.
    #[default]
    #[serde(other)]
    Other,
}

/// What a tool does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileOp {
    /// Reads it.
    Read,
    /// Writes all of it.
    Write,
    /// Changes some of it.
    Modify,
    /// Deletes it.
    Delete,
    /// Makes it.
    Create,
    /// Moves it.
    Move,
}

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Location {
    /// The file.
    pub path: String,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// What a tool does in a team of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Team {
    /// Sends a message to a teammate.
    Message,
    /// Creates or changes a task.
    Task,
    /// Creates, changes or ends the team.
    State,
}

/// A part of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ContentType,
    /// Its text; of code, the code; of a file, its content or its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The language of code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The media type of an image or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its bytes as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Content {
    /// Creates a piece of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }
}

/// What a piece of a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContentType {
    /// Text.
    #[default]
    Text,
    /// An image.
    Image,
    /// Code.
    Code,
    /// A file or another resource.
    File,
    /// Something else; its text is the JSON it came as.
    #[serde(other)]
    Other,
}

/// How an item grew or changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Delta {
    /// Text was added to a field.
    Append {
        /// Which field.
        field: Field,
        /// Which part of it, where it has several.
        part: u32,
        /// The new text.
        text: String,
    },
    /// The item is now this.
    Set {
        /// All of it, as far as it got.
        patch: Box<Item>,
    },
    /// It is still going on.
    Progress {
        /// The time since the start.
        #[serde(skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
        /// The progress, from 0 to 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        ratio: Option<f64>,
        /// The current activity.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

impl<'de> Deserialize<'de> for Delta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = DeltaWire::deserialize(deserializer)?;
        match wire.op.as_str() {
            "append" => Ok(Self::Append {
                field: wire.field.ok_or_else(|| D::Error::missing_field("field"))?,
                part: wire.part,
                text: wire.text.unwrap_or_default(),
            }),
            "set" => Ok(Self::Set { patch: wire.patch.ok_or_else(|| D::Error::missing_field("patch"))? }),
            "progress" => Ok(Self::Progress { elapsed_ms: wire.elapsed_ms, ratio: wire.ratio, text: wire.text }),
            other => Err(D::Error::custom(format_args!("unknown delta `{other}`"))),
        }
    }
}

#[derive(Deserialize)]
struct DeltaWire {
    op: String,
    field: Option<Field>,
    #[serde(default)]
    part: u32,
    text: Option<String>,
    patch: Option<Box<Item>>,
    elapsed_ms: Option<u64>,
    ratio: Option<f64>,
}

/// A field of an item that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// What is said, thought or planned.
    Text,
    /// The summary of what is thought.
    Summary,
    /// What a command or a tool prints.
    Output,
    /// What a tool is given, as it is being written.
    Input,
    /// The diff of a change, as it is being written.
    Diff,
}
