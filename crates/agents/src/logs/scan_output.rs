//! The output of a log scan: facts about the session, token usage, passages of text.

use serde::{Deserialize, Serialize};
use switchboard_event::Timestamp;

const NOT_JSON_MESSAGE: &str = "a record is not JSON";

/// The output for one record or several.
#[derive(Debug, Default)]
pub struct ScanOutput {
    pub facts: SessionFacts,
    /// The token usage.
    pub spent: Vec<ReplyTokens>,
    /// The passages in order; their text is in `text`.
    pub passages: Vec<TextPassage>,
    /// The concatenated text of the passages.
    pub text: String,
    /// The kind of the record, if it is unknown.
    pub unknown: Option<String>,
    /// The problem of a malformed record.
    pub trouble: Option<String>,
}

impl ScanOutput {
    pub fn mark_not_json(&mut self) {
        self.trouble = Some(NOT_JSON_MESSAGE.to_owned());
    }

    /// Returns whether the record was not JSON, in which case there is no other output.
    #[must_use]
    pub fn is_not_json(&self) -> bool {
        self.trouble.as_deref() == Some(NOT_JSON_MESSAGE)
    }

    /// Adds a passage, unless the text is empty.
    pub fn add_passage(&mut self, kind: PassageKind, at: Option<Timestamp>, tool: Option<&str>, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        let (end, tool) = (self.text.len(), tool.map(str::to_owned));
        self.passages.push(TextPassage { kind, at, tool, end });
    }

    /// Adds a passage that is written directly into `text`, unless nothing is written.
    pub fn write_passage(
        &mut self,
        kind: PassageKind,
        at: Option<Timestamp>,
        tool: Option<&str>,
        write: impl FnOnce(&mut String),
    ) {
        let before = self.text.len();
        write(&mut self.text);
        let (end, tool) = (self.text.len(), tool.map(str::to_owned));
        if end > before {
            self.passages.push(TextPassage { kind, at, tool, end });
        }
    }
}

/// The tokens of one model reply, or of a part of it. Entries with the same key are the same reply, in any file: the
/// largest figures and the earliest time count, and the tools of all parts are merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyTokens {
    /// The key that identifies the reply everywhere; begins with the agent's name.
    pub key: String,
    /// The time; if unknown, that of the previous record.
    pub at: Option<Timestamp>,
    pub model: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The subagent, by its name or id.
    pub subagent: Option<String>,
    /// A copy from another log: if both exist, the reply belongs to the other.
    pub copied: bool,
    /// Input tokens, without cached ones.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache with a short lifetime.
    pub cache_write: u64,
    /// Tokens written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Reasoning tokens, part of the output.
    pub reasoning: u64,
    /// The cost, if the agent reports it.
    pub cost_usd: Option<f64>,
    /// The tools that the reply called, as far as this record tells.
    pub tools: Vec<ToolCallRef>,
    /// Not a reply, but the total of the model in the session so far: the part that no reply accounts for is missing in
    /// the log. Sessions whose totals share a key continue from the same one.
    pub is_total: bool,
}

impl ReplyTokens {
    /// Returns all tokens; reasoning is part of the output.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        let tokens = [self.input, self.output, self.cache_read, self.cache_write, self.cache_write_1h];
        tokens.into_iter().fold(0, u64::saturating_add)
    }
}

/// A tool call of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCallRef {
    /// The call's id: the same call in two records counts once.
    pub id: String,
    /// The tool's name.
    pub name: String,
}

/// A passage of text in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPassage {
    pub kind: PassageKind,
    /// The time; if unknown, that of the previous record.
    pub at: Option<Timestamp>,
    /// The name of the tool.
    pub tool: Option<String>,
    /// The end of its text, which begins at the end of the previous passage.
    pub end: usize,
}

/// The kind of a passage: the event types of `agtrace.event.v1` that have a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassageKind {
    /// A message of a person.
    UserMessage,
    /// A message of the agent.
    AssistantMessage,
    /// A message of the agent's host.
    SystemMessage,
    /// The agent's reasoning.
    Reasoning,
    /// The input of a tool.
    ToolCall,
    /// The output of a tool.
    ToolResult,
    /// A summary of the session.
    SessionSummary,
    /// Anything else, such as injected context.
    Meta,
    /// The output of a local command.
    Log,
}

impl PassageKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::UserMessage,
        Self::AssistantMessage,
        Self::SystemMessage,
        Self::Reasoning,
        Self::ToolCall,
        Self::ToolResult,
        Self::SessionSummary,
        Self::Meta,
        Self::Log,
    ];

    /// The name in `agtrace.event.v1`.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::UserMessage => "user_message",
            Self::AssistantMessage => "assistant_message",
            Self::SystemMessage => "system_message",
            Self::Reasoning => "reasoning",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::SessionSummary => "session_summary",
            Self::Meta => "meta",
            Self::Log => "log",
        }
    }
}

/// Facts about a session. `None` means unknown or unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SessionFacts {
    pub session: Option<String>,
    /// The session that this subagent's session is a part of.
    pub parent: Option<String>,
    /// The subagent's name or id.
    pub subagent: Option<String>,
    /// The session that this one was forked from, if its history is not in its own file.
    pub base: Option<ForkBase>,
    /// The initial working directory.
    pub cwd: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The last model.
    pub model: Option<String>,
    pub title: Option<String>,
    /// The first prompt of a person.
    pub prompt: Option<String>,
    /// The version of the agent's program.
    pub version: Option<String>,
    /// The time of the first record.
    pub began: Option<Timestamp>,
    /// The time of the last record.
    pub updated: Option<Timestamp>,
    /// The number of prompts of a person.
    pub prompts: u32,
    /// The number of tokens in the model's context at the end.
    pub context_used: Option<u64>,
    /// The maximum number of tokens in the context.
    pub context_size: Option<u64>,
}

/// The location of a forked session's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkBase {
    /// The session.
    pub session: String,
    /// The number of records before the first one of the fork, in the session and in its own bases.
    pub records: u64,
    /// The number of bytes that its log shares.
    #[serde(default)]
    pub bytes: u64,
}

impl SessionFacts {
    /// Extends the time range by the time of a record.
    pub fn include_time(&mut self, at: Option<Timestamp>) {
        self.began = [self.began, at].into_iter().flatten().min();
        self.updated = self.updated.max(at);
    }

    /// Merges newer facts. Facts about the beginning of a session stay.
    pub fn merge_newer(&mut self, news: Self) {
        // Called for every record: unchanged values are not moved.
        let first = |known: &mut Option<String>, new: Option<String>| {
            if known.is_none() {
                *known = new;
            }
        };
        let last = |known: &mut Option<String>, new: Option<String>| {
            if new.is_some() {
                *known = new;
            }
        };
        first(&mut self.session, news.session);
        first(&mut self.parent, news.parent);
        first(&mut self.subagent, news.subagent);
        if self.base.is_none() {
            self.base = news.base;
        }
        first(&mut self.cwd, news.cwd);
        last(&mut self.branch, news.branch);
        last(&mut self.model, news.model);
        last(&mut self.title, news.title);
        first(&mut self.prompt, news.prompt);
        last(&mut self.version, news.version);
        self.began = [self.began, news.began].into_iter().flatten().min();
        self.updated = [self.updated, news.updated].into_iter().flatten().max();
        self.prompts += news.prompts;
        self.context_used = news.context_used.or(self.context_used);
        self.context_size = news.context_size.or(self.context_size);
    }
}
