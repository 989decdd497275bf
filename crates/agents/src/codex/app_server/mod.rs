//! `codex app-server`: JSON-RPC in both directions. What we send is read too, since a reply can only be understood
//! with its request. Several threads can share a connection: the first is the session, the others are subagents.

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

pub use reader::AppServer;
