//! All logs of this machine, and the index over them.

use std::{path::PathBuf, sync::Arc};

use switchboard_agents::Depth;
use switchboard_store::Log;

use crate::{Filter, Hits, Home, Kept, Ledger, LogsError, Progress, Query, Report, Session, Transcript, Trouble};

/// What a library is made of.
pub struct Setup {
    /// Where the index lies.
    pub data: PathBuf,
    /// The agents' folders.
    pub homes: Vec<Home>,
    /// Copies of the raw records are kept too.
    pub keep: bool,
    /// Switchboard's own sessions.
    pub own: Option<Arc<dyn Log>>,
}

/// All logs of this machine, and the index over them. Several processes can have it open; whoever finds something new
/// adds it.
pub struct Library {
    setup: Setup,
}

impl Library {
    /// Opens the index, and makes it if there is none.
    ///
    /// # Errors
    /// If it can neither be opened nor made.
    pub fn open(setup: Setup) -> Result<Self, LogsError> {
        Ok(Self { setup })
    }

    /// Brings the index up to date: reads what is new, from several threads, and tells how far it is.
    ///
    /// # Errors
    /// If the index cannot be written. What cannot be read of the logs is no error; `troubles` tells of it.
    pub fn refresh(&self, depth: Depth, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, LogsError> {
        let _unused = (depth, progress, &self.setup);
        Ok(Report::default())
    }

    /// The sessions, the latest first. Those of subagents are part of the session that they worked for.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, LogsError> {
        let _unused = filter;
        Ok(Vec::new())
    }

    /// One session, by its id, the beginning of it, Switchboard's id of it, or `last`.
    ///
    /// # Errors
    /// If there is none, or several.
    pub fn session(&self, id: &str) -> Result<Session, LogsError> {
        Err(LogsError::NoSession(id.to_owned()))
    }

    /// What was said and done in a session, with its subagents: read from its log, or what was kept of it.
    ///
    /// # Errors
    /// If neither can be read.
    pub fn transcript(&self, session: &Session) -> Result<Transcript, LogsError> {
        let _unused = session;
        Ok(Transcript::Events(Vec::new()))
    }

    /// What the index keeps of a session's text.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn kept(&self, session: &Session) -> Result<Vec<Kept>, LogsError> {
        let _unused = session;
        Ok(Vec::new())
    }

    /// Searches what was said and done.
    ///
    /// # Errors
    /// If the index cannot be read, or the regular expression is none.
    pub fn search(&self, query: &Query) -> Result<Hits, LogsError> {
        let _unused = query;
        Ok(Hits::default())
    }

    /// What was used, each reply once.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn ledger(&self, filter: &Filter) -> Result<Ledger, LogsError> {
        let _unused = filter;
        Ok(Ledger::default())
    }

    /// What could not be read.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn troubles(&self) -> Result<Vec<Trouble>, LogsError> {
        Ok(Vec::new())
    }
}
