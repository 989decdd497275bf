//! Reader for `codex app-server`: JSON-RPC in both directions. Client messages are read too, because a reply can only
//! be interpreted together with its request. Several threads can share a connection: the first is the session, the
//! others are subagents.

mod answers;
mod asked;
mod calls;
mod items;
mod notices;
mod reader;
mod requests;
mod settings;
mod threads;
mod turns;

pub use reader::AppServerReader;
