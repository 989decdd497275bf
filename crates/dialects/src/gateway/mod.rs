//! Output events of the gateway protocol: a flat stream of `kind`s for one run, from the first token to `session_end`.

mod project;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_event::{ChangeKind, Usage};

use crate::Dialect;
use crate::projection::restore_projection;

/// The gateway dialect.
pub const DIALECT: Dialect = Dialect {
    name: "gateway",
    title: "gateway output events: agent_token, tool_call, usage, session_end, …",
    projection: || Box::new(project::GatewayProjection::default()),
    restore: restore_projection::<project::GatewayProjection>,
    revision: 3,
    verbatim: false,
    schema: message_schema,
};

/// Returns the schema of one message.
fn message_schema(_: &[&str]) -> Value {
    serde_json::from_str(include_str!("schema.json")).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum GatewayOutputEvent<'a> {
    /// New text of the answer.
    AgentToken {
        text: &'a str,
        /// Ours: text that the agent took back, from the end of the answer so far. Then `text` is empty.
        #[serde(skip_serializing_if = "Option::is_none")]
        retracted: Option<&'a str>,
    },
    /// New reasoning text.
    Thinking {
        text: &'a str,
        /// Ours: as for the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        retracted: Option<&'a str>,
        /// Ours: the subagent that thinks.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<&'a str>,
    },
    /// Progress of a tool call.
    ToolCall {
        id: &'a str,
        name: &'a str,
        status: ToolStage,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<&'a RawValue>,
        /// Ours: the subagent that called the tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<&'a str>,
    },
    /// The output of a tool.
    ToolResult { tool_call_id: &'a str, output: &'a RawValue, is_error: bool },
    /// Progress of a subagent.
    Subagent {
        id: &'a str,
        status: ToolStage,
        label: &'a str,
        /// Ours: the subagent's message; never part of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
    },
    /// Progress of a hook.
    Hook { id: &'a str, name: &'a str, status: &'a str },
    /// Token usage of a turn; input excludes the cache.
    Usage {
        input_tokens: u64,
        output_tokens: u64,
        cache_read: u64,
        cache_write: u64,
        /// Ours: tokens of tool use, if the agent counts them separately.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_tokens: Option<u64>,
        /// Ours: a running total of the agent whose share of the turn is unknown and therefore not counted.
        #[serde(skip_serializing_if = "Option::is_none")]
        cumulative: Option<GatewayTokens>,
    },
    /// A line on standard output that is not a record.
    Stdout { line: &'a str },
    /// A line on standard error.
    Stderr { line: &'a str },
    /// The end of the run.
    SessionEnd { exit_code: i32, duration_ms: u64 },
    /// The reason why the run failed.
    Error { message: &'a str },
}

/// Progress of a tool or a subagent.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum ToolStage {
    Started,
    Running,
    Completed,
    Failed,
}

impl ToolStage {
    /// Returns the stage of an ended tool.
    fn from_success(success: bool) -> Self {
        if success { Self::Completed } else { Self::Failed }
    }
}

/// Token counts.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct GatewayTokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_read: u64,
    cache_write: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_tokens: Option<u64>,
}

impl From<&Usage> for GatewayTokens {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write(),
            tool_tokens: usage.tool,
        }
    }
}

impl GatewayOutputEvent<'_> {
    /// Builds the usage message of a turn.
    fn from_usage(counted: &Usage, cumulative: Option<GatewayTokens>) -> Self {
        let GatewayTokens { input_tokens, output_tokens, cache_read, cache_write, tool_tokens } =
            GatewayTokens::from(counted);
        Self::Usage { input_tokens, output_tokens, cache_read, cache_write, tool_tokens, cumulative }
    }
}

/// A changed file, used as the output of a tool without other output.
#[derive(Serialize)]
struct GatewayChangedFile<'a> {
    pub path: &'a str,
    pub kind: ChangeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'a str>,
    pub diff: &'a str,
}
