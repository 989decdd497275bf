//! Asking what is true now, while it is made sure that nothing is new.

use std::{sync::Arc, thread};

use switchboard_agents::Depth;

use super::Library;
use crate::{
    LogsError, Progress, Report,
    index::{Index, Moment},
};

/// An answer from the index as it was at a moment.
struct Early<T> {
    library: Library,
    moment: Moment,
    answer: T,
}

impl Library {
    /// Brings the index up to date and asks it. Most often nothing is new: so the question is asked at once, beside the
    /// look at all logs, and once more only if something was written meanwhile.
    ///
    /// # Errors
    /// If the index cannot be written, and what the question fails with.
    pub fn ask<T: Send, E: From<LogsError>>(
        &self,
        depth: Depth,
        progress: &(dyn Fn(Progress) + Sync),
        question: impl Fn(&Self) -> Result<T, E> + Sync,
    ) -> Result<(Report, T), E> {
        thread::scope(|scope| {
            let others = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
            let early = others.then(|| scope.spawn(|| self.early(&question)));
            let report = self.refresh(depth, progress)?;
            // If anything was read, its answer is not that of now: the question is asked again beside it.
            let early = early.filter(|_| report.read == 0).and_then(|early| early.join().ok().flatten());
            match early.filter(Early::is_current) {
                Some(early) => Ok((report, early.answer)),
                None => Ok((report, question(self)?)),
            }
        })
    }

    /// The answer of this moment. Whatever goes wrong goes wrong again, or was changed meanwhile.
    fn early<T, E>(&self, question: impl Fn(&Self) -> Result<T, E>) -> Option<Early<T>> {
        let path = self.setup.data.join(Index::FILE);
        let library = Self::of(Arc::clone(&self.setup), Index::another(&path).ok()?);
        let moment = library.index().moment().ok()?;
        let answer = question(&library).ok()?;
        Some(Early { library, moment, answer })
    }
}

impl<T> Early<T> {
    /// Nobody has written since.
    fn is_current(&self) -> bool {
        self.library.index().moment().is_ok_and(|now| now == self.moment)
    }
}
