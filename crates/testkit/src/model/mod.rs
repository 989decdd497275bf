//! A scripted model: a server on loopback with the APIs that coding agents use, so that the real programs run without a
//! key and without a network. The prompt contains the answer, in the small language of [`script`].
//!
//! ```text
//! Model::start()  ─►  http://127.0.0.1:PORT   one address for all APIs, distinguished by path
//! prompt "[[think hm]] [[tool shell {"command":"ls"}]]"  ─►  a thought, a text, a call; then "Done: <result>"
//! model.requests()                            the requests and their answers
//! ```
//!
//! Each API has a file (`anthropic`, `responses`, `google`, `chat`) that parses requests and formats answers.
//! Everything else is shared. The model considers only the user's latest text and the results of the tools that it
//! called.

mod answer;
mod anthropic;
mod api;
mod chat;
mod conversation;
mod exchange;
mod google;
mod request_log;
mod responses;
pub mod script;
mod server;

pub use answer::{AnswerEnd, AnswerPiece, AnswerTextChunk, ModelAnswer, ModelUsage};
pub use conversation::SideRequest;
pub use exchange::UNKNOWN_MODEL;
pub use request_log::RecordedModelRequest;
pub use server::ScriptedModel;

#[cfg(test)]
mod tests;
