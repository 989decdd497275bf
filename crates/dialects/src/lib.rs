//! The protocols that clients speak, made from Switchboard's event model. One folder a dialect, and one line in
//! [`mod@table`]. Pure: a projection is a function of the events so far.

mod messages;
mod projection;
#[cfg(test)]
mod samples;
mod schema;
mod table;
mod track;

mod events;
mod harness;
mod message;
mod unified;

pub use messages::Messages;
pub use projection::Projection;
pub use table::{DIALECTS, Dialect, dialect};
