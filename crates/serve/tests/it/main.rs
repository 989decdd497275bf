//! The server as its clients see it: a real router on a real log, with the built-in agents.

mod approvals;
mod described;
mod elsewhere;
mod events;
mod figures;
mod refused;
mod rig;
mod sessions;
mod steering;
