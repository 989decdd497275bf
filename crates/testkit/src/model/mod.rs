//! A scripted model: a server on loopback that speaks the APIs which coding agents use, so that the real programs can
//! be run with no key and no network. What it answers is written in the prompt, in the small language of [`script`].
//!
//! ```text
//! Model::start()  ─►  http://127.0.0.1:PORT   one address for all APIs; the path tells them apart
//! prompt "[[think hm]] [[tool shell {"command":"ls"}]]"  ─►  a thought, a text, a call; then "Done: <result>"
//! model.requests()                            what it was asked, and what it said
//! ```
//!
//! One file an API (`anthropic`, `responses`, `google`, `chat`): how a question is read and how an answer looks on the
//! wire. Everything else is the same for all of them. It is no model of a model: it never looks at anything but the
//! newest words of the user and the results of the tools that it called.

mod answer;
mod anthropic;
mod api;
mod body;
mod book;
mod chat;
mod conversation;
mod exchange;
mod google;
mod plan;
mod record;
mod responses;
pub mod script;
mod server;
mod side;
mod stream;

pub use answer::{Answer, Bit, End, Piece, Usage};
pub use exchange::NO_MODEL;
pub use record::Request;
pub use server::Model;
pub use side::Side;

#[cfg(test)]
mod tests;
