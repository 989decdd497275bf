//! The invariants of a session's events, checked event by event with a memory that does not grow with the stream:
//! the sequence is dense, everything that begins ends, and every native record stands on exactly one event.

mod books;
mod broken;
mod natives;
mod session;
#[cfg(test)]
mod tests;

pub use books::Reuse;
pub use broken::Broken;
pub(crate) use broken::must;
pub use session::Ledger;
