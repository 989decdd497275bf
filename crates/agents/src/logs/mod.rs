//! The session logs that agents leave on disk: their locations, their formats, and quick scanners for them. Data and
//! pure functions: an agent's directory knows the shape of its files, and other crates open them.

mod event_scanner;
mod event_text;
mod scan_output;

use std::path::{Path, PathBuf};

pub(crate) use event_scanner::{EventScanner, EventScannerConfig};
pub use event_scanner::{ReplyKey, own_log_scanner, own_reply_key};
pub use scan_output::{ForkBase, PassageKind, ReplyTokens, ScanOutput, SessionFacts, TextPassage, ToolCallRef};

use crate::{HostAccess, JsonView};

/// The logs of one agent.
pub struct AgentLogs {
    pub agent: &'static str,
    /// The name of the source that reads them.
    pub source: &'static str,
    /// Returns the agent's own directories on this machine, from its variables and the user's home.
    pub homes: fn(&dyn HostAccess) -> Vec<PathBuf>,
    /// The agent's own directories relative to a user's home: for configured homes, or homes of another machine.
    pub below: &'static [&'static str],
    /// Directories in the agent's own directory that can hold logs, and log files: nothing else is searched. A `*` in a
    /// file name matches anything.
    pub folders: &'static [&'static str],
    /// Describes a file by its path relative to the agent's own directory. `None` if it is not a log.
    pub file: fn(&Path) -> Option<LogFile>,
    /// Creates a scanner for one file, from its beginning or from a saved state.
    pub skim: fn(&LogFile, saved: Option<&[u8]>) -> Box<dyn LogScanner>,
    /// The key that identifies a reply everywhere, from its usage event: the same as in the scanner.
    pub key: ReplyKey,
    /// Returns the workspace of a log (by its path), for agents that store it next to the log and not in it; see
    /// [`no_workspace_root`].
    pub root: fn(&dyn HostAccess, &Path) -> Option<String>,
    /// The number of days after which the agent deletes its logs, if it does.
    pub kept_days: Option<u32>,
}

/// For agents whose logs contain their working directory.
#[must_use]
pub fn no_workspace_root(_: &dyn HostAccess, _: &Path) -> Option<String> {
    None
}

/// One log file.
#[derive(Clone, Debug)]
pub struct LogFile {
    /// How records are stored in it.
    pub form: LogFormat,
    /// The session, if the file name has it.
    pub session: Option<String>,
    /// The beginning of the session's id, if the file name has no more.
    pub session_prefix: Option<String>,
    /// The session that this subagent's file is a part of.
    pub parent: Option<String>,
    /// The agent has archived it.
    pub archived: bool,
    /// The common name and the rank of files that hold the same log: the one with the lowest rank is read. In a
    /// database, a session's name is appended.
    pub twin: Option<(String, u8)>,
}

/// How records are stored in a file.
#[derive(Clone, Copy, Debug)]
pub enum LogFormat {
    /// One per line; the file only grows.
    Lines,
    /// One per line; later lines change earlier ones, so the file is read again when it has grown.
    Replayed,
    /// One per line, compressed with zstd; the file does not change.
    Compressed,
    /// One JSON document, whose parts are the records.
    Document(fn(&str) -> Vec<String>),
    /// One JSON document of many sessions, whose parts are the records, each with its session. It repeats the logs of
    /// these sessions, so it only counts for those without one.
    SharedDocument(fn(&str) -> Vec<(String, String)>),
    /// A SQLite database of many sessions; the queries define the records.
    Database(&'static SessionQueries),
    /// A session spread over many small JSON files; the function lists the files that belong to the given one.
    Tree(fn(&dyn HostAccess, &Path) -> Vec<RecordFile>),
    /// Events of Switchboard's own log, which is not a file of an agent.
    Events,
}

/// Queries that read sessions from a database. A record is `{"table":…,"row":…}`. If a table or a column is missing, a
/// query returns nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct SessionQueries {
    /// The queries for all sessions, for each schema generation: their id, and a text that changes with any change in
    /// them. Of several queries, the first one whose tables and columns all exist is used. A later generation does not
    /// repeat the sessions of an earlier one.
    pub sessions: &'static [&'static [&'static str]],
    /// The rows of one session (`?1`), in reading order.
    pub rows: &'static [RowQuery],
}

/// Rows of a table that are records. Columns named `data` hold JSON.
#[derive(Debug, PartialEq, Eq)]
pub struct RowQuery {
    pub table: &'static str,
    pub query: &'static str,
    /// The rows that follow each row: those that belong to the value of its first column (`?1`).
    pub each: &'static [RowQuery],
    /// A row affects token usage only if its `data` contains one of these words; without words, every row does.
    pub counting: &'static [&'static str],
    /// Long fields of `data` without token usage: they are replaced by 0 if only usage matters.
    pub long: &'static [&'static str],
}

/// A small file that is one record of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFile {
    /// The `table` of the record.
    pub table: &'static str,
    pub path: PathBuf,
}

impl LogFile {
    /// A line-based file of a session of its own.
    #[must_use]
    pub fn line_log(session: Option<String>) -> Self {
        Self { form: LogFormat::Lines, session, session_prefix: None, parent: None, archived: false, twin: None }
    }
}

/// How much a scan extracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanDepth {
    /// Token usage and its attribution.
    Tokens,
    /// Token usage and passages.
    All,
}

/// Scans one file, record by record. Its token usage equals that of the source's events, and it is much faster; a test
/// compares them on every recording.
pub trait LogScanner: Send {
    /// Returns whether the record can affect token usage: it has usage, or changes the attribution of later usage. Must
    /// be cheap, since it is called for every record, and the others are not even parsed; false positives are allowed.
    fn may_affect_usage(&self, record: &[u8]) -> bool;

    /// Scans a record and checks that it is JSON; if not, there is no other output. With [`ScanDepth::Tokens`], only
    /// records that can affect usage are passed, and no passages are wanted.
    fn scan_record(&mut self, record: &str, depth: ScanDepth, found: &mut ScanOutput);

    /// Writes the output that only the end of the file determines. Not called for a file that only grows, since it
    /// never ends.
    fn finish(&mut self, found: &mut ScanOutput) {
        let _unused = found;
    }

    /// Returns the state that is needed to continue after the last record. Empty for files that are always read from
    /// the start.
    fn save_state(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// Returns the problem of usage figures: they are not an object, or one of these fields is not a number. `null` counts
/// as missing.
pub fn usage_figure_problem(of: &str, figures: Option<JsonView<'_>>, names: &[&str]) -> Option<String> {
    let figures = figures?;
    if !figures.is_object() {
        return Some(format!("the tokens of {of} are no figures"));
    }
    let figures = figures.as_object();
    let bad = names.iter().find(|name| figures.get(name).is_some_and(|figure| figure.as_u64().is_none()))?;
    Some(format!("{bad} of {of} is not a number"))
}

#[cfg(test)]
mod tests {

    use super::usage_figure_problem;
    use crate::JsonView;

    #[test]
    fn what_is_no_number_is_told() {
        let wrong = |figures: &str| usage_figure_problem("a reply", JsonView::parse(figures), &["input", "output"]);
        for fine in ["{}", r#"{"input":7,"output":null,"total":"x"}"#, r#"{"input":3.0}"#] {
            assert_eq!(wrong(fine), None, "{fine}");
        }
        for bad in ["-5", "\"7\"", "{}", "1.5", "true"] {
            let told = wrong(&format!(r#"{{"input":1,"output":{bad}}}"#));
            assert_eq!(told.as_deref(), Some("output of a reply is not a number"), "{bad}");
        }
        for bad in ["[]", "7", "\"x\""] {
            assert_eq!(wrong(bad).as_deref(), Some("the tokens of a reply are no figures"), "{bad}");
        }
        assert_eq!(usage_figure_problem("a reply", None, &["input"]), None);
    }
}
