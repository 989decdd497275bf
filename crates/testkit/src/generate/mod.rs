//! Endless streams made from recordings: they are repeated with fresh ids in one session, and streamed text gets many
//! more pieces, as in real use.

mod shape;
mod stream;
mod template;

pub use stream::EndlessStream;
