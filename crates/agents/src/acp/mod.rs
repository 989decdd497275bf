//! ACP, the Agent Client Protocol: both directions of a connection between a client and any ACP agent. Several agents
//! are supported by this module alone; `README.md` lists their quirks.

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
pub use launch::{AGENT, Row, forking, row, start, with_endpoints, with_protected_paths};
pub use shown::Shown;

use crate::RecordSource;

/// Record sources of ACP agents.
pub const SOURCES: &[RecordSource] = &[RecordSource {
    name: "acp",
    agent: "acp",
    title: "any ACP agent, a transcript of both directions",
    schema: None,
    reader,
}];

/// Creates a reader for a transcript of any ACP agent.
pub fn reader() -> Box<dyn crate::RecordReader> {
    Box::new(live::Live::default())
}

/// Creates a reader for an agent whose call ids begin with the tool name.
pub fn reader_of_prefixed_ids() -> Box<dyn crate::RecordReader> {
    Box::new(live::Live::with_prefixed_ids())
}
