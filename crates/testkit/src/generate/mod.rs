//! Endless streams made of recordings: they are repeated with fresh ids, all in one session, and where a recording
//! shows text coming in pieces there come many more pieces, as in real work.

mod shape;
mod stream;
mod template;

pub use stream::Stream;
