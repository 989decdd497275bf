//! When a session was last written to: what was a moment ago is at work.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use switchboard_event::Timestamp;

use super::{Library, sessions::belongs};
use crate::{LogsError, Session, index::units::Unit};

impl Library {
    /// When something was last written to the logs of a session and its subagents. Nothing if they are gone.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn written(&self, session: &Session) -> Result<Option<Timestamp>, LogsError> {
        let units = self.units()?;
        let there = units.iter().filter(|unit| belongs(unit, session) && !unit.gone);
        Ok(there.filter_map(|unit| written(unit)).max())
    }
}

/// A file says it itself. A database is written for all its sessions, so of one only the last record says it.
fn written(unit: &Unit) -> Option<Timestamp> {
    if unit.part.is_some() { unit.facts.updated } else { modified(&unit.path) }
}

fn modified(path: &Path) -> Option<Timestamp> {
    let file = fs::metadata(path).ok()?;
    Timestamp::from_micros(file.mtime() * 1_000_000 + file.mtime_nsec() / 1_000)
}
