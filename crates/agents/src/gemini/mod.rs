//! Gemini CLI: `gemini --acp`, which is two-way and read like any ACP agent, and
//! `gemini -p … --output-format stream-json`, for one prompt and one answer.

mod config;
mod errors;
mod items;
mod launch;
mod live;
mod log;
mod policy;
mod raw;
mod results;
mod sessions;
mod settings;
mod usage;

#[cfg(test)]
mod launch_tests;

pub use launch::AGENT;
pub use log::LOGS;

use crate::RecordSource;

/// Readable sources of Gemini CLI.
pub const SOURCES: &[RecordSource] = &[
    RecordSource {
        name: "gemini",
        agent: "gemini",
        title: "Gemini CLI, `gemini -p --output-format stream-json`",
        schema: Some(include_str!("schema.json")),
        reader: || Box::new(live::GeminiStreamReader::default()),
    },
    RecordSource {
        name: "gemini:acp",
        agent: "gemini",
        title: "Gemini CLI, `gemini --acp`, a transcript of both directions",
        schema: None,
        reader: crate::acp::reader_of_prefixed_ids,
    },
    RecordSource {
        name: "gemini:log",
        agent: "gemini",
        title: "Gemini CLI, the session logs in `~/.gemini/tmp`",
        schema: None,
        reader: log::reader,
    },
];
