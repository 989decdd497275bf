//! Items, the parts of a turn: a message, reasoning, a command, a file change, a tool call.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;

use crate::Id;

mod call;
mod content;
mod delta;
mod details;

pub use call::{Call, CallKind, FileOp, Location, Team};
pub use content::{Content, ContentType};
pub use delta::{Delta, Field};
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
