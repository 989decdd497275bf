//! The scenarios, by topic.

pub mod asked;
pub mod begun;
pub mod entry;
pub mod hostile;
pub mod kinds;
pub mod line;
pub mod long;
pub mod looks;
pub mod past;
pub mod real;
pub mod typed;
