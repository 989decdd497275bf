//! Client protocols, derived from Switchboard's event model. Each dialect is one directory and one line in
//! [`mod@table`]. Projections are pure functions of the events so far.

mod message_id;
mod messages;
mod output;
mod plan;
mod projection;
mod saved;
mod schema;
mod subagents;
mod table;
#[cfg(test)]
mod test_events;
#[cfg(test)]
mod test_saved;
#[cfg(test)]
mod test_sessions;
mod tools;
mod track;

pub mod acp;
mod board;
pub mod consumer;
mod events;
mod gateway;
pub mod harness;
mod message;
mod trace;
mod unified;

pub use messages::MessageBuffer;
pub use projection::Projection;
pub use table::{CLIENT_SCHEMAS, ClientSchema, DIALECTS, Dialect, DialectSurface, default_dialect, find_dialect};
