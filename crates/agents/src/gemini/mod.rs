//! Gemini CLI: `gemini -p … --output-format stream-json`. Its two-way form speaks ACP and is read there.

mod errors;
mod items;
mod launch;
mod live;
mod raw;
mod results;
mod usage;

pub use launch::AGENT;

use crate::Source;

/// What Gemini CLI can be read from.
pub const SOURCES: &[Source] = &[Source {
    name: "gemini",
    agent: "gemini",
    title: "Gemini CLI, `gemini -p --output-format stream-json`",
    schema: Some(include_str!("schema.json")),
    reader: || Box::new(live::Live::default()),
}];
