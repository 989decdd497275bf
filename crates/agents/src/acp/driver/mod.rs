//! What is said to a living ACP agent. What passes is read by the reader of this folder, like any other transcript.

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
