//! Last write times of sessions, which show whether a session is active.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use switchboard_event::Timestamp;

use super::{LogLibrary, sessions::belongs_to_session};
use crate::{LogSession, LogsError, index::units::LogUnit};

impl LogLibrary {
    /// Returns when the logs of a session and its subagents were last written. Returns `None` if they are deleted.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn last_written(&self, session: &LogSession) -> Result<Option<Timestamp>, LogsError> {
        let units = self.selected_units()?;
        let there = units.iter().filter(|unit| belongs_to_session(unit, session) && !unit.gone);
        Ok(there.filter_map(|unit| unit_last_written(unit)).max())
    }
}

/// A file has a modification time. A database is written for all its sessions, so only the last record tells.
fn unit_last_written(unit: &LogUnit) -> Option<Timestamp> {
    if unit.part.is_some() { unit.facts.updated } else { modified_at(&unit.path) }
}

fn modified_at(path: &Path) -> Option<Timestamp> {
    let file = fs::metadata(path).ok()?;
    Timestamp::from_micros(file.mtime() * 1_000_000 + file.mtime_nsec() / 1_000)
}
