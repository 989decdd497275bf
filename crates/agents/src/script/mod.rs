//! Script: built in, without a process. It performs its prompt line by line, so that clients, tests and demos see
//! every kind of event. It touches no file and starts nothing: what it reports is made up, and the same every time.

mod driver;
mod literal;
mod live;
mod looks;
mod offers;
mod requests;
mod stage;
#[cfg(test)]
mod tests;
mod verb;

pub use driver::AGENT;

use crate::Source;

/// What a script can be read from.
pub const SOURCES: &[Source] = &[Source {
    name: "script",
    agent: "script",
    title: "built in: performs a script line by line (`text`, `run`, `edit`, `approve`, …)",
    schema: None,
    reader: || Box::new(live::Live::default()),
}];
