//! Script: a built-in agent without a process. It performs its prompt line by line, so that clients, tests and demos
//! see every kind of event. It accesses no files and starts no programs: its results are simulated and always the same.

mod driver;
mod literal;
mod live;
mod looks;
mod offers;
mod requests;
mod stage;
mod verb;

#[cfg(test)]
mod tests;

pub use driver::AGENT;

use crate::RecordSource;

/// Record sources of the script agent.
pub const SOURCES: &[RecordSource] = &[RecordSource {
    name: "script",
    agent: "script",
    title: "built in: performs a script line by line (`text`, `run`, `edit`, `approve`, …)",
    schema: None,
    reader: || Box::new(live::Live::default()),
}];
