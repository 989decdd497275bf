//! Board: a server that speaks the CLI agent streaming protocol, read by its session events, and spoken to by REST.
//! Another Switchboard is such a server. Not an agent of its own: whose work it shows it does not say.

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

use crate::Source;

/// What such a server can be read from.
pub const SOURCES: &[Source] = &[Source {
    name: "board",
    agent: "board",
    title: "session events of a board server (REST and WebSocket)",
    schema: None,
    reader: || Box::new(Live::default()),
}];
