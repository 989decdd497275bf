//! The scenarios, by what they are about. They go through the table of agents and name none.

pub mod one_shot;
pub mod script;
