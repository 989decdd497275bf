//! Client protocols, derived from Switchboard's event model. Each dialect is one directory and one line in
//! [`mod@table`]. Projections are pure functions of the events so far.

pub mod acp;
mod board;
pub mod consumer;
mod events;
mod gateway;
pub mod harness;
mod message;
mod messages;
mod projection;
mod schema;
mod table;
#[cfg(test)]
mod test_events;
#[cfg(test)]
mod test_saved;
#[cfg(test)]
mod test_sessions;
mod tools;
mod trace;
mod track;
mod unified;

pub use messages::MessageBuffer;
pub use projection::Projection;
pub use table::{CLIENT_SCHEMAS, ClientSchema, DIALECTS, Dialect, DialectSurface, default_dialect, find_dialect};
