//! Ways to spoil a stream: what a broken pipe, another version of the agent or a broken agent might send. The
//! same dice always spoil it the same way.

mod bytes;
mod json;
mod lines;
mod stream;
mod vocabulary;

pub use json::{UNKNOWN_FIELD, with_unknown_fields};
pub use stream::mutate;
pub use vocabulary::Vocabulary;
