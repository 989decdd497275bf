//! What coding agents say, read into Switchboard's event model. One folder an agent, and one line in [`mod@table`].
//! Pure: no clock, no file, no socket, no process. Bytes go in by [`Lines`] and [`Record`], events come out of a
//! [`Translator`].

pub mod diff;
mod framing;
mod json;
mod reader;
mod record;
mod scribe;
mod split;
mod table;
mod translator;

mod acp;
mod board;
mod claude;
mod codex;
mod echo;
mod gemini;
mod opencode;
mod script;

pub use framing::{BoundedLines, Frame, LONGEST_LINE, Lines};
pub use json::{Json, Object};
pub use reader::{Note, Reader, Start, Why};
pub use record::{Record, RecordBody};
pub use scribe::{Ending, Scribe};
pub use table::{SOURCES, Source, agents, source};
pub use translator::{Options, Translator};
