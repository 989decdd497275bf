//! The scenarios, by topic. They use the table of agents and name none.

pub mod approvals;
pub mod choices;
pub mod consumers;
pub mod continued;
pub mod editor;
pub mod fakes;
pub mod harness;
pub mod listed;
pub mod network;
pub mod one_shot;
pub mod refused;
pub mod run;
pub mod same;
pub mod sandbox;
pub mod script;
pub mod stops;
