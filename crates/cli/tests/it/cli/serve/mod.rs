//! `switchboard serve` and `switchboard token`, as their users run them.

mod ends;
mod inside;
mod rig;
mod starts;
