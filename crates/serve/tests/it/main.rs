//! The server as its clients see it: a real router with access control on a real log, with the built-in agents.

#![cfg(test)]

mod board;
mod client;
mod consumers;
mod control;
mod conversations;
mod guard;
mod guarded_server;
mod harness;
mod listen;
mod logs;
mod messages;
mod page;
mod refused;
mod rig;
mod server;
mod sessions;
mod tls;
