//! Claude Code: `claude -p --output-format stream-json`, one-way or with the control protocol on its input.

mod assistant;
mod control;
mod errors;
mod items;
mod launch;
mod live;
mod results;
mod stream;
mod system;
mod tasks;
mod turn;
mod user;

pub use launch::AGENT;

use crate::Source;

/// What Claude Code can be read from.
pub const SOURCES: &[Source] = &[Source {
    name: "claude",
    agent: "claude",
    title: "Claude Code, `claude -p --output-format stream-json --verbose`",
    schema: Some(include_str!("schema.json")),
    reader: || Box::new(live::Live::default()),
}];
