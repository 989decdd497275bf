//! Mutations of a stream: what a broken pipe, another version of the agent or a faulty agent might send. The same seed
//! always gives the same mutation.

mod bytes;
mod json;
mod lines;
mod stream;
mod vocabulary;

pub use json::{UNKNOWN_FIELD, with_unknown_fields};
pub use stream::mutate_stream;
pub use vocabulary::RecordingVocabulary;
