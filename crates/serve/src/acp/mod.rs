//! Switchboard as an agent of the Agent Client Protocol, so that an editor can use any agent. One connection, over any
//! lines; sessions are those of the log, and stay when the editor is gone.
//!
//! * `connect` says which request is handled by whom; nothing is awaited there, for it is the loop that reads.
//! * `editor` is what one connection shares; `setup`, `sessions`, `settings` and `prompts` do what is asked.
//! * `open` is a session that the editor has open, `pump` tells the editor how it goes on, `asks` asks the user.
//!
//! Files and terminals of the editor are not used: agents have their own.

mod asks;
mod connect;
mod content;
mod editor;
mod errors;
mod flow;
mod list;
mod open;
mod prompts;
mod pump;
mod sessions;
mod settings;
mod setup;
mod tickets;
mod words;

pub use connect::serve;
pub use editor::Front;
