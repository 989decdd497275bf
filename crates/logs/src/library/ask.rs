//! Queries that run while the index is brought up to date.

use std::{sync::Arc, thread};

use switchboard_agents::ScanDepth;

use super::LogLibrary;
use crate::{
    LogsError, ScanProgress, ScanReport,
    index::{IndexVersion, LogIndex},
};

/// An answer, with the index version it is based on.
struct EarlyAnswer<T> {
    library: LogLibrary,
    moment: IndexVersion,
    answer: T,
}

impl LogLibrary {
    /// Brings the index up to date and queries it. Usually nothing is new, so the query runs concurrently with the
    /// scan, and again only if something was written meanwhile.
    ///
    /// # Errors
    /// If the index cannot be written, or the query fails.
    pub fn refresh_and_query<T: Send, E: From<LogsError>>(
        &self,
        depth: ScanDepth,
        progress: &(dyn Fn(ScanProgress) + Sync),
        question: impl Fn(&Self) -> Result<T, E> + Sync,
    ) -> Result<(ScanReport, T), E> {
        thread::scope(|scope| {
            let others = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
            let early = others.then(|| scope.spawn(|| self.answer_early(&question)));
            let report = self.refresh_index(depth, progress)?;
            // If anything was read, the early answer is outdated.
            let early = early.filter(|_| report.read == 0).and_then(|early| early.join().ok().flatten());
            match early.filter(EarlyAnswer::is_current) {
                Some(early) => Ok((report, early.answer)),
                None => Ok((report, question(self)?)),
            }
        })
    }

    /// Answers from the current index. Errors are ignored: they recur in the second attempt, or something changed
    /// meanwhile.
    fn answer_early<T, E>(&self, question: impl Fn(&Self) -> Result<T, E>) -> Option<EarlyAnswer<T>> {
        let path = self.setup.data.join(LogIndex::FILE_NAME);
        let library = Self::with_index(Arc::clone(&self.setup), LogIndex::open_existing(&path).ok()?);
        let moment = library.index.lock().current_version().ok()?;
        let answer = question(&library).ok()?;
        Some(EarlyAnswer { library, moment, answer })
    }
}

impl<T> EarlyAnswer<T> {
    /// Returns whether the index is unchanged since.
    fn is_current(&self) -> bool {
        self.library.index.lock().current_version().is_ok_and(|now| now == self.moment)
    }
}
