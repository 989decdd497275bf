//! The log in SQLite: one connection that writes, on a thread of its own; one that moves the write-ahead log into the
//! file; a few that read.

mod checkpoint;
mod checksum;
mod delete;
mod expire;
mod file;
mod group;
mod owners;
mod read;
mod reserve;
mod saved;
mod store;
mod update;
mod write;

pub use self::store::{Options, Store};
