//! The log as others use it: in one process, in several, and after the worst.

#![cfg(test)]

mod appending;
mod checkpoints;
mod child;
mod crash;
mod deleting;
mod fixture;
mod format;
mod full;
mod listing;
mod owners;
mod paging;
mod retention;
