//! The server as its clients see it: a real router on a real log, with the built-in agents; and what guards it.

#![cfg(test)]

mod approvals;
mod board;
mod client;
mod consumers;
mod conversations;
mod degraded;
mod described;
mod door;
mod elsewhere;
mod events;
mod feeds;
mod figures;
mod guard_bodies;
mod guard_entry;
mod guard_pages;
mod harness;
mod listen_end;
mod listen_limits;
mod listen_unix;
mod logs;
mod page;
mod refused;
mod rig;
mod running;
mod sessions;
mod steering;
mod streams;
