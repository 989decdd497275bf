//! Board: a server of the CLI agent streaming protocol, read through its session events and controlled over REST.
//! Another Switchboard is such a server. It is not an agent itself, and does not say which agent it runs.

mod driver;
mod errors;
mod exchange;
mod items;
mod launch;
mod live;
mod routes;
mod speech;

#[cfg(test)]
mod tests;

pub use launch::AGENT;
pub(crate) use live::{Live, is_session_event};

use crate::RecordSource;

/// Record sources of board servers.
pub const SOURCES: &[RecordSource] = &[RecordSource {
    name: "board",
    agent: "board",
    title: "session events of a board server (REST and WebSocket)",
    schema: None,
    reader: || Box::new(Live::default()),
}];
