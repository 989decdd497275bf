//! The invariants of a session's events, checked event by event in constant memory: the sequence is dense, everything
//! that begins ends, and every native record is on exactly one event.

mod books;
mod broken;
mod natives;
mod session;
#[cfg(test)]
mod tests;

pub use books::IdReuse;
pub use broken::InvariantViolation;
pub(crate) use broken::must;
pub use session::SessionInvariants;
