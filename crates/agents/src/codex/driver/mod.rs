//! Driver for `codex app-server`. It opens one thread, which is the session; other threads belong to subagents. It
//! produces no events: those come from the reader.

mod answers;
mod calls;
mod choices;
mod content;
mod conversation;
mod handshake;
mod interrupts;
mod requests;
mod selectors;
mod slash;
mod turns;

#[cfg(test)]
mod tests;

pub use answers::DECLINE_PREFIX;
pub use conversation::CodexDriver;
pub use handshake::ThreadOpening;
pub use slash::SLASH_COMMANDS;
