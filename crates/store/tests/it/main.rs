//! The log as others use it: in one process, in several, and after the worst.

mod appending;
mod child;
mod crash;
mod deleting;
mod fixture;
mod format;
mod full;
mod listing;
mod owners;
mod paging;
