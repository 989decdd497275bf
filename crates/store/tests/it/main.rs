//! The public interface of the log: in one process, in several, and after crashes.

#![cfg(test)]

mod appending;
mod checkpoints;
mod child;
mod commits;
mod conformance;
mod crash;
mod deleting;
mod fixture;
mod format;
mod full;
mod listing;
mod owners;
mod retention;
