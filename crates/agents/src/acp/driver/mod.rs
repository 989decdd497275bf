//! Driver for ACP agents. Their messages are read by the reader in the parent directory, like any other transcript.

mod answers;
mod approval_selectors;
mod client;
mod fields;
mod handshake;
mod offers;
mod servers;
mod setup;

#[cfg(test)]
mod tests;

pub use client::Client;
pub use fields::reason;
pub use setup::{Habits, Setup, Start};
