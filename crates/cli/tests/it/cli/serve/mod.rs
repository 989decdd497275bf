//! `switchboard serve` and `switchboard token`, as their users run them.

mod ends;
mod full_disk;
mod inside;
pub mod rig;
mod stalled;
mod starts;
