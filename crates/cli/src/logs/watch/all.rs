//! All sessions, shown in some way as they change.

use std::time::{Duration, Instant};

use switchboard_logs::live::{LogWatcher, RunningSession, SessionChange, WatchUpdate};

use crate::failure::Failure;

/// Showing is not worth more often than the eye can follow.
const EYE: Duration = Duration::from_millis(40);

/// A way to show sessions.
pub trait Show {
    /// How long it can wait when nothing happens.
    fn patience(&self) -> Duration;

    /// Only the last of many changes matters, if they come at once.
    fn is_picture(&self) -> bool;

    /// Shows the sessions, some of which changed.
    fn show(&mut self, running: &[RunningSession], changes: &[SessionChange]) -> Result<(), Failure>;

    /// It is over.
    fn end(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Shows all sessions until the watcher is stopped.
pub fn show(watcher: &mut LogWatcher, show: &mut dyn Show) -> Result<(), Failure> {
    show.show(&watcher.running_sessions(), &[])?;
    let (mut shown, mut waits) = (Instant::now(), false);
    loop {
        let patience = if waits { EYE.saturating_sub(shown.elapsed()) } else { show.patience() };
        let changes = match watcher.next_update(patience) {
            WatchUpdate::Stopped => return show.end(),
            WatchUpdate::Changed(changes) => changes,
            WatchUpdate::Quiet => Vec::new(),
        };
        waits = show.is_picture() && shown.elapsed() < EYE;
        if !waits {
            show.show(&watcher.running_sessions(), &changes)?;
            shown = Instant::now();
        }
    }
}
