//! The scenarios, by topic.

pub mod appearance;
pub mod approvals;
pub mod connection;
pub mod history;
pub mod hostile;
pub mod kinds;
pub mod prompts;
