//! What an agent leaves on disk about its sessions: where it lies, in what form, and a quick way through it. Data and
//! pure functions: an agent's folder knows the shape of its files, and others open them.

mod found;
mod of_events;
mod skim;
mod wrong;

use std::path::{Path, PathBuf};

pub use found::{Base, Called, Facts, Found, Kind, Passage, Spent};
pub use of_events::{Key as ReplyKey, own_key, own_skim};
pub(crate) use of_events::{OfEvents, Ways};
pub use skim::{Depth, Skim};
pub(crate) use wrong::wrong_figures;

use crate::Host;

/// The logs of one agent.
pub struct Logs {
    /// The agent.
    pub agent: &'static str,
    /// The source that reads them, by its name.
    pub source: &'static str,
    /// The agent's own folders on this machine, as its variables and the user's home say.
    pub homes: fn(&dyn Host) -> Vec<PathBuf>,
    /// The agent's own folders from a user's home on: for homes that were named, or come from another machine.
    pub below: &'static [&'static str],
    /// Folders of the agent's own folder that can hold logs, and files that are some: nothing else is looked through. A `*`
    /// in the name of a file stands for anything.
    pub folders: &'static [&'static str],
    /// What a file is, by its path from the agent's own folder on. Nothing for what is no log.
    pub file: fn(&Path) -> Option<LogFile>,
    /// A quick way through one file, from its beginning, or from where what it saved was read.
    pub skim: fn(&LogFile, saved: Option<&[u8]>) -> Box<dyn Skim>,
    /// What makes a reply the same everywhere, by the event that tells its figures: as the skim has it.
    pub key: ReplyKey,
    /// The folder that was worked in, for agents that write it beside a log (of this path) and not in it: see [`no_root`].
    pub root: fn(&dyn Host, &Path) -> Option<String>,
    /// After how many days the agent deletes its logs, if it does.
    pub kept_days: Option<u32>,
}

/// For agents whose logs say themselves where they worked.
#[must_use]
pub fn no_root(_: &dyn Host, _: &Path) -> Option<String> {
    None
}

/// One file of a log.
#[derive(Clone, Debug)]
pub struct LogFile {
    /// How records lie in it.
    pub form: Form,
    /// The session, as far as the name says it.
    pub session: Option<String>,
    /// What the session's id begins with, where the name of the file says no more.
    pub session_prefix: Option<String>,
    /// The session that it is a part of: the file of a subagent.
    pub parent: Option<String>,
    /// The agent has put it away.
    pub archived: bool,
    /// The same log can lie in several files, under one name here: the one of the lowest rank is read. In a database, a
    /// session's name follows it.
    pub twin: Option<(String, u8)>,
}

/// How records lie in a file.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// One a line, and the file only grows.
    Lines,
    /// One a line, and later lines change what earlier ones say: what was read is read again when the file has grown.
    Replayed,
    /// One a line, compressed by zstd; it does not change.
    Compressed,
    /// One JSON document; its parts are the records.
    Document(fn(&str) -> Vec<String>),
    /// One JSON document of many sessions; its parts are the records, each with its session. It repeats what the logs of
    /// these sessions have, so it only counts for those that have none.
    SharedDocument(fn(&str) -> Vec<(String, String)>),
    /// A SQLite database of many sessions; the queries say what is a record.
    Database(&'static Queries),
    /// A session spread over many small JSON files; the function names those that belong to the one it is given.
    Tree(fn(&dyn Host, &Path) -> Vec<Piece>),
    /// Events of Switchboard's own log, which is no file of an agent.
    Events,
}

/// How to read sessions out of a database. A record is `{"table":…,"row":…}`. Where a table or a column is missing, a
/// query gives nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Queries {
    /// All sessions, for each way in which they were ever kept: their id, and a text that changes when anything in them
    /// does. Of several queries the first is asked that has all its tables and columns. What an earlier way gave, a later
    /// one does not give again.
    pub sessions: &'static [&'static [&'static str]],
    /// The rows of one session (`?1`), in the order in which they are read.
    pub rows: &'static [Rows],
}

/// Rows of a table that are records. Columns named `data` hold JSON.
#[derive(Debug, PartialEq, Eq)]
pub struct Rows {
    /// The table's name.
    pub table: &'static str,
    /// The query that gives them.
    pub query: &'static str,
    /// What follows each of them: the rows that belong to the value of its first column (`?1`).
    pub each: &'static [Rows],
    /// For tokens, a row matters only if its `data` has one of these words in it; without words, each does.
    pub counting: &'static [&'static str],
    /// Fields of `data` that say nothing about tokens, and may be long: where only those matter, they hold 0.
    pub long: &'static [&'static str],
}

/// A small file that is one record of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is: the `table` of the record.
    pub table: &'static str,
    /// Where it lies.
    pub path: PathBuf,
}

impl LogFile {
    /// A file of lines that belongs to nobody else.
    #[must_use]
    pub fn lines(session: Option<String>) -> Self {
        Self { form: Form::Lines, session, session_prefix: None, parent: None, archived: false, twin: None }
    }
}
