//! Runs coding agents. Not how they speak (`switchboard-agents`), nor how clients hear of it.

pub mod http;
pub mod supervise;
