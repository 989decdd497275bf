//! Board: a server that speaks the CLI agent streaming protocol, read by its session events. Another Switchboard is
//! such a server. Not an agent of its own: whose work it shows it does not say.

mod errors;
mod items;
mod live;

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
