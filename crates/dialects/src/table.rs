//! The dialects: the only place that names them all. A new dialect is one folder and one line here.

use serde_json::Value;

use crate::{Projection, acp, board, consumer, events, gateway, harness, message, trace, unified};

/// One outgoing protocol.
pub struct Dialect {
    /// Its name, as users type it.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// Makes a projection that begins at the first event of a session.
    pub projection: fn() -> Box<dyn Projection>,
    /// Goes on from what a projection of the same [`version`](Dialect::version) saved. Nothing if that is of another
    /// shape: then begin at the first event.
    pub restore: fn(&[u8]) -> Option<Box<dyn Projection>>,
    /// To be raised whenever its messages or what it saves change. A test fails if that is forgotten.
    pub revision: u32,
    /// Its messages are the events themselves as they are stored, byte for byte.
    pub verbatim: bool,
    /// The JSON Schema of one message, given the names of all agents.
    pub schema: fn(&[&str]) -> Value,
}

impl Dialect {
    /// What saved projections, and counts of messages, are good for: the same version writes the same messages.
    #[must_use]
    pub fn version(&self) -> String {
        format!("{}-{}", env!("CARGO_PKG_VERSION"), self.revision)
    }
}

/// All dialects, in the order in which they are shown.
pub const DIALECTS: &[Dialect] = &[
    unified::DIALECT,
    board::DIALECT,
    gateway::DIALECT,
    harness::DIALECT,
    message::DIALECT,
    consumer::DIALECT,
    trace::DIALECT,
    acp::DIALECT,
    events::DIALECT,
];

/// What clients of a two-way protocol send.
pub struct Accepted {
    /// The name of its schema.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// The JSON Schema of one message.
    pub schema: fn() -> Value,
}

/// All that clients send in the words of a dialect.
pub const ACCEPTED: &[Accepted] = &[
    Accepted {
        name: "harness:client",
        title: "what a client of the harness protocol sends: initialize, thread/start, turn/start, …",
        schema: harness::client_schema,
    },
    Accepted {
        name: "consumer:client",
        title: "what consumers say: user_message, permission_response, interrupt, …",
        schema: consumer::said,
    },
];

/// Finds a dialect by its name.
#[must_use]
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.name == name)
}

/// A wire that speaks one dialect unless another is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// Pages of messages, and the WebSocket beside them: what a board shows.
    Board,
    /// A stream of server-sent events.
    Stream,
    /// One run, from a task to its end.
    Gateway,
    /// Threads and turns, both ways.
    Harness,
    /// Several who follow and steer one session.
    Consumers,
    /// What was said and done in the sessions that agents left on disk.
    Log,
}

/// The dialect that a wire speaks unless another is asked for.
#[must_use]
pub fn usual(surface: Surface) -> &'static Dialect {
    match surface {
        Surface::Board => &board::DIALECT,
        Surface::Stream => &unified::DIALECT,
        Surface::Gateway => &gateway::DIALECT,
        Surface::Harness => &harness::DIALECT,
        Surface::Consumers => &consumer::DIALECT,
        Surface::Log => &trace::DIALECT,
    }
}
