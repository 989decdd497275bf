//! ACP, the Agent Client Protocol: what passes between a client and any agent that speaks it, both directions.
//! Several agents are read by this folder alone; their habits are in `README.md`.

mod approval_policy;
mod call;
mod calls;
mod changes;
mod content;
mod driver;
mod elicitation;
mod errors;
mod info;
mod items;
mod launch;
mod live;
mod names;
mod permission;
mod prompts;
mod rpc;
mod session;
mod shown;
mod speech;
mod subagents;
mod terminals;
mod updates;
mod usage;

pub use driver::{Client, Habits, Setup, Start};
pub use launch::{AGENT, Row, forking, row, start, with_protected_paths};

pub use shown::Shown;

use crate::Source;

/// What an ACP agent can be read from.
pub const SOURCES: &[Source] = &[Source {
    name: "acp",
    agent: "acp",
    title: "any ACP agent, a transcript of both directions",
    schema: None,
    reader,
}];

/// Reads a transcript of any agent that speaks ACP.
pub fn reader() -> Box<dyn crate::Reader> {
    Box::new(live::Live::default())
}

/// Reads a transcript of an agent whose ids of calls begin with the name of the tool.
pub fn reader_of_prefixed_ids() -> Box<dyn crate::Reader> {
    Box::new(live::Live::with_prefixed_ids())
}
