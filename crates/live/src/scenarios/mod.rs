//! The scenarios, by topic. They use the table of agents and name none.

pub mod approvals;
pub mod failures;
pub mod protocols;
pub mod sandbox;
pub mod sessions;
pub mod stops;
pub mod turns;
