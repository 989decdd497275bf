//! The invariants, for every agent and every dialect. What they are is said in the test kit, where they are checked;
//! here are the streams that they are checked on.

mod deep;
mod garbage;
mod logs;
mod recorded;
mod repetition;
mod split;
mod truncated;
mod unknown;

use switchboard_testkit::{
    check::StreamChecker,
    ledger::InvariantViolation,
    parallel,
    recording::{Recording, load_recordings},
};

use crate::verdict::verdict;

/// A source of recordings and the means to check them.
pub struct Suite {
    pub checker: StreamChecker,
    pub recordings: Vec<Recording>,
}

impl Suite {
    pub fn new() -> Self {
        Self { checker: StreamChecker::new().unwrap(), recordings: load_recordings().unwrap() }
    }

    /// Does `check` to every recording, on all cores. It gives what it found wrong.
    #[track_caller]
    pub fn each(&self, what: &str, check: impl Fn(&Recording) -> Vec<InvariantViolation> + Sync) {
        let found = parallel::map(&self.recordings, |recording| {
            let named = |broken: InvariantViolation| format!("{recording}: {broken}");
            check(recording).into_iter().map(named).collect::<Vec<_>>()
        });
        verdict(what, found.into_iter().flatten());
    }
}
