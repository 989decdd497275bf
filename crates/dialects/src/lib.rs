//! Client protocols, derived from Switchboard's event model. Each dialect is one directory and one line in
//! [`mod@table`]. Projections are pure functions of the events so far.

pub mod acp;
mod board;
pub mod consumer;
mod events;
mod gateway;
pub mod harness;
mod message;
mod projection;
mod table;
#[cfg(test)]
mod test_events;
#[cfg(test)]
mod test_sessions;
mod tools;
mod trace;
mod track;
mod unified;

pub use projection::{MessageBuffer, Projection};
pub use table::{CLIENT_SCHEMAS, ClientSchema, DIALECTS, Dialect, DialectSurface, default_dialect, find_dialect};
