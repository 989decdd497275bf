//! Echo: built in, without a process. It repeats its task, so that clients and tests have an agent that never
//! surprises.

mod driver;
mod live;

pub use driver::AGENT;

use crate::Source;

/// What echo can be read from.
pub const SOURCES: &[Source] = &[Source {
    name: "echo",
    agent: "echo",
    title: "built in: repeats each line, or each `{\"type\":\"task\",\"text\":…}`",
    schema: None,
    reader: || Box::new(live::Live::default()),
}];
