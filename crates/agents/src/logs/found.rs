//! What is found in a log: facts about the session, tokens, passages of text.

use serde::{Deserialize, Serialize};
use switchboard_event::Timestamp;

const NOT_JSON: &str = "a record is not JSON";

/// What one record, or several, gave.
#[derive(Debug, Default)]
pub struct Found {
    /// What is known about the session.
    pub facts: Facts,
    /// What was used.
    pub spent: Vec<Spent>,
    /// What was said and done, in order; their text is in `text`.
    pub passages: Vec<Passage>,
    /// The text of the passages, one after the other.
    pub text: String,
    /// The record is of a kind that nobody knows.
    pub unknown: Option<String>,
    /// The record is not what it should be: what is wrong with it.
    pub trouble: Option<String>,
}

impl Found {
    /// The record is not JSON.
    pub fn is_no_json(&mut self) {
        self.trouble = Some(NOT_JSON.to_owned());
    }

    /// The record was found not to be JSON, which is then all that was found.
    #[must_use]
    pub fn is_not_json(&self) -> bool {
        self.trouble.as_deref() == Some(NOT_JSON)
    }

    /// Adds a passage. Nothing was said where there is no text.
    pub fn say(&mut self, kind: Kind, at: Option<Timestamp>, tool: Option<&str>, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        let (end, tool) = (self.text.len(), tool.map(str::to_owned));
        self.passages.push(Passage { kind, at, tool, end });
    }

    /// Adds a passage that is written straight to where texts are. Nothing was said where nothing is written.
    pub fn compose(&mut self, kind: Kind, at: Option<Timestamp>, tool: Option<&str>, write: impl FnOnce(&mut String)) {
        let before = self.text.len();
        write(&mut self.text);
        let (end, tool) = (self.text.len(), tool.map(str::to_owned));
        if end > before {
            self.passages.push(Passage { kind, at, tool, end });
        }
    }
}

/// Tokens of one reply of a model, or of a part of it. What has the same key is the same reply, wherever it lies: of
/// its figures the largest count, of its times the earliest, and its tools are all that any part names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// What makes the reply the same everywhere; begins with the agent's name.
    pub key: String,
    /// When; if not known, when the record before happened.
    pub at: Option<Timestamp>,
    /// The model.
    pub model: Option<String>,
    /// The folder that was worked in.
    pub cwd: Option<String>,
    /// The subagent, by its name or id.
    pub subagent: Option<String>,
    /// A copy of what another log has as its own: where both exist, it belongs to the other.
    pub copied: bool,
    /// Tokens in, without those of the cache.
    pub input: u64,
    /// Tokens out, with those of reasoning.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache for a short time.
    pub cache_write: u64,
    /// Tokens written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Tokens of reasoning, part of those out.
    pub reasoning: u64,
    /// What it cost, if the agent says so.
    pub cost_usd: Option<f64>,
    /// The tools that the reply called, as far as this record says.
    pub tools: Vec<Called>,
    /// No reply, but all that the session has used of the model so far: what its replies do not come to is missing in
    /// the log. Sessions whose totals have one key go on from the same one.
    pub is_total: bool,
}

impl Spent {
    /// All its tokens; those of reasoning are part of the output.
    #[must_use]
    pub fn all(&self) -> u64 {
        let tokens = [self.input, self.output, self.cache_read, self.cache_write, self.cache_write_1h];
        tokens.into_iter().fold(0, u64::saturating_add)
    }
}

/// A tool that was called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// The call's id: the same call in two records is one call.
    pub id: String,
    /// The tool's name.
    pub name: String,
}

/// One thing that was said or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// What it is.
    pub kind: Kind,
    /// When; if not known, when the record before happened.
    pub at: Option<Timestamp>,
    /// The tool.
    pub tool: Option<String>,
    /// Where its text ends. It begins where the one before ends.
    pub end: usize,
}

/// What a passage is: the event types of `agtrace.event.v1` that have a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A person said it.
    UserMessage,
    /// The agent said it.
    AssistantMessage,
    /// The agent's host said it.
    SystemMessage,
    /// The agent thought it.
    Reasoning,
    /// What a tool was called with.
    ToolCall,
    /// What a tool gave back.
    ToolResult,
    /// The session in short.
    SessionSummary,
    /// Something else: context that was put in, say.
    Meta,
    /// What a local command printed.
    Log,
}

impl Kind {
    /// All of them, in the order of their numbers.
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

    /// Its name in `agtrace.event.v1`.
    #[must_use]
    pub fn name(self) -> &'static str {
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

/// What is known about a session. What is `None` is not known, or not news.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Facts {
    /// Its id.
    pub session: Option<String>,
    /// The session that it is a part of: it is a subagent's.
    pub parent: Option<String>,
    /// The subagent's name or id.
    pub subagent: Option<String>,
    /// The session that it began as a copy of, where its history is not in its own file.
    pub base: Option<Base>,
    /// The folder that it began in.
    pub cwd: Option<String>,
    /// The branch that was worked on.
    pub branch: Option<String>,
    /// The last model.
    pub model: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// The first thing that a person said.
    pub prompt: Option<String>,
    /// The version of the agent's program.
    pub version: Option<String>,
    /// When the first record happened.
    pub began: Option<Timestamp>,
    /// When the last record happened.
    pub updated: Option<Timestamp>,
    /// How many prompts a person gave.
    pub prompts: u32,
    /// How many tokens the model had before it at last.
    pub context_used: Option<u64>,
    /// How many it can have.
    pub context_size: Option<u64>,
}

/// Where the history of a session is that began as a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The session.
    pub session: String,
    /// How many records there are before the first of the copy, of the session and of what it began as.
    pub records: u64,
    /// How many bytes of its log are shared.
    #[serde(default)]
    pub bytes: u64,
}

impl Facts {
    /// A record is of this time.
    pub fn happened(&mut self, at: Option<Timestamp>) {
        self.began = [self.began, at].into_iter().flatten().min();
        self.updated = self.updated.max(at);
    }

    /// Learns what is newer. What a session began with stays.
    pub fn learn(&mut self, news: Self) {
        // Asked for every record: what is no news is not moved.
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
