//! The protocols that clients speak, made from Switchboard's event model. One folder a dialect, and one line in
//! [`mod@table`]. Pure: a projection is a function of the events so far.

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

pub use messages::Messages;
pub use projection::Projection;
pub use table::{ACCEPTED, Accepted, DIALECTS, Dialect, Surface, dialect, usual};
