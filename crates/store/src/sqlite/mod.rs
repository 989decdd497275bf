//! The log in SQLite: one connection that writes on its own thread, one for checkpoints of the write-ahead log, and a
//! pool of readers.

mod checkpoint;
mod checksum;
mod commit_watch;
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

pub use self::store::{SqliteStore, StoreOptions};
