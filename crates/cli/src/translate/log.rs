//! Session logs that are no lines: compressed ones, documents, databases.

use std::{io, path::Path};

use switchboard_agents::{Form, LOGS, Logs, Source};
use switchboard_logs::read;

use super::stage::Stage;
use crate::failure::Failure;

/// A file that an agent wrote as a log.
pub struct Log<'a> {
    logs: &'static Logs,
    path: &'a Path,
    form: Form,
}

impl<'a> Log<'a> {
    /// What a file is. It may have been taken from where its agent put it: then the end of its path tells.
    pub fn find(source: &Source, path: &'a Path) -> Option<Self> {
        let logs = LOGS.iter().find(|logs| logs.source == source.name)?;
        let mut below = path.iter();
        loop {
            if let Some(file) = (logs.file)(below.as_path()) {
                return Some(Self { logs, path, form: file.form });
            }
            below.next()?;
        }
    }

    /// The folder that was worked in, if a file beside it says so.
    pub fn root(&self) -> Option<String> {
        read::root(self.logs, self.path)
    }

    /// It is made of lines.
    pub fn is_lines(&self) -> bool {
        matches!(self.form, Form::Lines | Form::Replayed)
    }

    /// Translates it; of a database all sessions, or the one that was named.
    pub fn translate(&self, session: Option<&str>, mut stage: Stage) -> Result<(), Failure> {
        let read = match self.form {
            Form::Database(queries) => self.database(queries, session, &mut stage),
            form => read::records(self.path, &form, None, 0, &mut |_, record| stage.line(record)).map(|_| true),
        };
        if let Ok(true) | Err(_) = read {
            // What was read is worth having.
            stage.finish()?;
        }
        match read {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.unreadable(io::Error::new(io::ErrorKind::NotFound, "no such session is in it"))),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    /// False if there is no such session.
    fn database(
        &self,
        queries: &switchboard_agents::Queries,
        named: Option<&str>,
        stage: &mut Stage,
    ) -> io::Result<bool> {
        let database = read::Database::open(self.path)?;
        let sessions = database.sessions(queries)?;
        let wanted = sessions.iter().filter(|(id, _)| named.is_none_or(|named| named == id));
        let mut is_any = false;
        for (id, _) in wanted {
            if std::mem::replace(&mut is_any, true) {
                stage.next();
            }
            database.records(queries, id, 0, &mut |_, record| stage.line(record))?;
        }
        Ok(is_any)
    }

    fn unreadable(&self, cause: io::Error) -> Failure {
        Failure::Unreadable { path: self.path.to_owned(), cause }
    }
}
