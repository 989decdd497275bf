//! `switchboard serve` and `switchboard token`, as their users run them.

mod ends;
mod inside;
pub mod rig;
mod stalled;
mod starts;
