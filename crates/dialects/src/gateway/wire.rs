//! The messages, as the gateway protocol has them. What it does not know is left out; ours are marked as such.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{ChangeKind, Usage};

/// One message.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OutputEvent<'a> {
    /// New text of the answer.
    AgentToken { text: &'a str },
    /// New text of what the agent thinks.
    Thinking {
        text: &'a str,
        /// Ours: the subagent that thinks.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<&'a str>,
    },
    /// How far a tool got.
    ToolCall {
        id: &'a str,
        name: &'a str,
        status: Stage,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<&'a RawValue>,
        /// Ours: the subagent that called it.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<&'a str>,
    },
    /// What a tool gave back.
    ToolResult { tool_call_id: &'a str, output: &'a RawValue, is_error: bool },
    /// How far another agent got that works for this one.
    Subagent {
        id: &'a str,
        status: Stage,
        label: &'a str,
        /// Ours: what it says; never part of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
    },
    /// How far a hook got.
    Hook { id: &'a str, name: &'a str, status: &'a str },
    /// What a turn used; input without the cache.
    Usage {
        input_tokens: u64,
        output_tokens: u64,
        cache_read: u64,
        cache_write: u64,
        /// Ours: tokens of tool use, where the agent counts them apart.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_tokens: Option<u64>,
        /// Ours: a running total of the agent of which the turn's share is not known, and so not counted.
        #[serde(skip_serializing_if = "Option::is_none")]
        cumulative: Option<Tokens>,
    },
    /// A line on standard output that is no record.
    Stdout { line: &'a str },
    /// A line on standard error.
    Stderr { line: &'a str },
    /// The run is over.
    SessionEnd { exit_code: i32, duration_ms: u64 },
    /// Why the run failed.
    Error { message: &'a str },
}

/// How far a tool or a subagent got.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Started,
    Running,
    Completed,
    Failed,
}

impl Stage {
    /// The stage of what has ended.
    pub fn of(success: bool) -> Self {
        if success { Self::Completed } else { Self::Failed }
    }
}

/// Counts of tokens.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_read: u64,
    cache_write: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_tokens: Option<u64>,
}

impl From<&Usage> for Tokens {
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

impl OutputEvent<'_> {
    /// What a turn used.
    pub fn usage(counted: &Usage, cumulative: Option<Tokens>) -> Self {
        let Tokens { input_tokens, output_tokens, cache_read, cache_write, tool_tokens } = Tokens::from(counted);
        Self::Usage { input_tokens, output_tokens, cache_read, cache_write, tool_tokens, cumulative }
    }
}

/// A changed file, where that is all that a tool gave back.
#[derive(Serialize)]
pub struct ChangedFile<'a> {
    pub path: &'a str,
    pub kind: ChangeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'a str>,
    pub diff: &'a str,
}
