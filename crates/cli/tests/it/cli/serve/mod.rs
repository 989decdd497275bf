//! `switchboard serve` and `switchboard token`, as their users run them.

mod ends;
mod full_disk;
mod inside;
mod one_task;
mod request_log;
pub mod rig;
mod stalled;
mod starts;
