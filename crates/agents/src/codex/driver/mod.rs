//! What is said to `codex app-server`. It opens one thread, and that is the session; what it hears of other threads
//! is the work of subagents. Never the events: those are the reader's.

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

pub use answers::DECLINED;
pub use conversation::Conversation;
pub use handshake::Opening;
pub use slash::COMMANDS;

#[cfg(test)]
mod tests;
