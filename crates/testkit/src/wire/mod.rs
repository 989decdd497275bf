//! What every dialect promises, checked on the messages that it gives: they are JSON on one line, fit the
//! dialect's schema, keep its rules, and are the same whenever the same events are projected.

mod messages;
mod pattern;
mod rules;
mod schema;

pub use messages::{Wire, read_again, wires};
pub use rules::{Rules, Text};
