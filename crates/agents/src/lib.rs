//! What coding agents say, read into Switchboard's event model. One folder an agent, and one line in [`mod@table`].
//! Pure: no clock, no file, no socket, no process. Bytes go in by [`Lines`] and [`Record`], events come out of a
//! [`Translator`]. To run an agent, its [`Agent`] says what to start, and a [`Driver`] what to say to it.

mod agent;
mod commands;
pub mod diff;
mod driver;
#[cfg(test)]
mod driver_tests;
mod framing;
mod joined_records;
mod json;
mod launch;
mod logs;
mod mend;
mod plain;
mod reader;
mod record;
mod replies;
mod scribe;
mod split;
mod table;
mod translator;
mod walk;

mod acp;
mod board;
mod claude;
mod codex;
mod echo;
mod gemini;
mod opencode;
mod script;

pub use agent::{Abilities, Agent, Found, Login, Versions, WhileRunning};
pub use driver::{
    Answer, Command, Decision, Driver, Effect, Effects, Feed, HttpRequest, Image, Prompt, Signal, Timer, Unsupported,
};
pub use framing::{BoundedLines, Frame, LONGEST_LINE, Lines};
pub use joined_records::{ends_with_record, split_joined_records};
pub use json::{Json, Object};
pub use launch::{Host, Input, Launch, Order, Resume, StateDirectory};
pub use logs::{
    Base, Called, Depth, Facts, Form, Found as Finds, Kind, LogFile, Logs, Passage, Piece, Queries, ReplyKey, Rows,
    Skim, Spent, no_root, own_key, own_skim,
};
pub use mend::Mender;
pub use reader::{Note, Reader, Start, Why};
pub use record::{Record, RecordBody};
pub use scribe::{Ending, Scribe};
pub use table::{AGENTS, LOGS, SOURCES, Source, agent, agents, source};
pub use translator::{Options, Translator};
