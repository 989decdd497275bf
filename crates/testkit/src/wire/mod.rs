//! Checks of every dialect on its messages: they are one line of JSON, match the schema, satisfy the rules, and are the
//! same whenever the same events are projected.

mod messages;
mod rules;
mod schema;

pub use messages::{DialectChecker, dialect_checkers, reread_events};
pub use rules::{DialectRules, TextRule};
