//! Claude Code: `claude -p --output-format stream-json`, one-way or with the control protocol on its input.

// Reading.
mod abandoned;
// Running.
mod answers;
mod assistant;
mod control;
mod driver;
mod errors;
mod items;
mod launch;
mod live;
mod log;
mod login;
mod mcp;
mod modes;
mod offers;
mod pace;
mod prompts;
mod queue;
mod requests;
mod results;
mod rules;
mod settings;
mod stream;
mod system;
mod tasks;
mod turn;
mod user;

#[cfg(test)]
mod launches;

#[cfg(test)]
mod recorded_tests;

#[cfg(test)]
mod rehearsals;

pub use launch::{AGENT, endpoints, state_directory};
pub use log::LOGS;

use crate::RecordSource;

/// The record sources of Claude Code.
pub const SOURCES: &[RecordSource] = &[
    RecordSource {
        name: "claude",
        agent: "claude",
        title: "Claude Code, `claude -p --output-format stream-json --verbose`",
        schema: Some(include_str!("schema.json")),
        reader: || Box::new(live::ClaudeStreamReader::default()),
    },
    RecordSource {
        name: "claude:log",
        agent: "claude",
        title: "Claude Code's session logs, `projects/**/*.jsonl`",
        schema: None,
        reader: || Box::new(log::ClaudeLogReader::default()),
    },
];
