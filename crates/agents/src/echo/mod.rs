//! Echo: built in, without a process. It repeats its task, so that clients and tests have a predictable agent.

mod driver;
mod live;

pub use driver::AGENT;

use crate::RecordSource;

/// The record sources of echo.
pub const SOURCES: &[RecordSource] = &[RecordSource {
    name: "echo",
    agent: "echo",
    title: "built in: repeats each line, or each `{\"type\":\"task\",\"text\":…}`",
    schema: None,
    reader: || Box::new(live::EchoReader::default()),
}];
