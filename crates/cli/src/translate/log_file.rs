//! Session logs that do not consist of lines: compressed ones, documents, databases.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use switchboard_agents::{AgentLogs, LOGS, LogFormat, RecordSource, ScanDepth, SessionQueries};
use switchboard_logs::read;

use super::RecordPipeline;
use crate::failure::Failure;

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A session log of an agent.
pub struct LogFile<'a> {
    logs: &'static AgentLogs,
    path: &'a Path,
    form: LogFormat,
}

impl<'a> LogFile<'a> {
    /// Returns the log at a path, if the source is the log of an agent and the path looks like one.
    pub fn find(source: &RecordSource, path: &'a Path) -> Option<Self> {
        let logs = LOGS.iter().find(|logs| logs.source == source.name)?;
        let compressed = || file_begins_with(path, ZSTD_MAGIC).then_some(LogFormat::Compressed);
        detect_format(logs, path).or_else(compressed).map(|form| Self { logs, path, form })
    }

    /// Returns the session's working directory, if a file next to the log names it.
    pub fn root(&self) -> Option<String> {
        read::working_directory(self.logs, self.path)
    }

    pub fn is_lines(&self) -> bool {
        matches!(self.form, LogFormat::Lines | LogFormat::Replayed)
    }

    /// Translates the log; for a database, all sessions or the named one.
    pub fn translate(&self, session: Option<&str>, mut stage: RecordPipeline) -> Result<(), Failure> {
        let read = match self.form {
            LogFormat::Database(queries) => self.database(queries, session, &mut stage),
            form => read::read_records(self.path, &form, None, 0, ScanDepth::All, &mut |_, record| stage.line(record))
                .map(|_| true),
        };
        if let Ok(true) | Err(_) = read {
            // Output what was read before the error.
            stage.finish()?;
        }
        match read {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.unreadable(io::Error::new(io::ErrorKind::NotFound, "no such session is in it"))),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    /// Returns whether there is such a session.
    fn database(&self, queries: &SessionQueries, named: Option<&str>, stage: &mut RecordPipeline) -> io::Result<bool> {
        let database = read::AgentDatabase::open(self.path)?;
        let sessions = database.list_sessions(queries)?;
        let wanted = sessions.iter().filter(|(id, _)| named.is_none_or(|named| named == id));
        let mut is_any = false;
        for (id, _) in wanted {
            if std::mem::replace(&mut is_any, true) {
                stage.next();
            }
            database.read_records(queries, id, 0, ScanDepth::All, &mut |_, record| stage.line(record))?;
        }
        Ok(is_any)
    }

    fn unreadable(&self, cause: io::Error) -> Failure {
        Failure::Unreadable { path: self.path.to_owned(), cause }
    }
}

/// Detects the format of a file. It may be a copy outside of the agent's directory: then the end of its path decides,
/// or its file name.
fn detect_format(logs: &AgentLogs, path: &Path) -> Option<LogFormat> {
    let mut below = path.iter();
    let ends = std::iter::from_fn(|| below.next().map(|_| below.as_path().to_owned()));
    let moved = logs.folders.iter().filter_map(|folder| Some(Path::new(folder).join(path.file_name()?)));
    let places = std::iter::once(path.to_owned()).chain(ends).chain(moved);
    places.filter_map(|place| (logs.file)(&place)).map(|file| file.form).next()
}

fn file_begins_with(path: &Path, bytes: [u8; 4]) -> bool {
    let mut found = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut found)).is_ok() && found == bytes
}
