//! The sessions that run in this process, and the tails of sessions that other processes run.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock, Weak},
};

use parking_lot::Mutex;
use switchboard_event::Id;
use switchboard_store::{CommitWatch, SessionLog};
use tokio::sync::{Notify, futures::Notified, watch};

use crate::{
    SessionHandle,
    follow::{LiveTail, MemoryBudget},
};

#[derive(Default)]
pub struct SessionRegistry {
    pub budget: Arc<MemoryBudget>,
    state: Mutex<RegistryState>,
    run_started: Notify,
    commits: OnceLock<CommitNotifier>,
}

#[derive(Default)]
struct RegistryState {
    running: HashMap<Id, SessionHandle>,
    /// Sessions that are about to start here.
    starting: HashSet<Id>,
    /// The tails of sessions that another process runs, while they have followers here.
    foreign: HashMap<Id, Weak<LiveTail>>,
}

/// Notifies of commits to the log, by any process.
struct CommitNotifier {
    changed: watch::Sender<()>,
    _watch: Option<CommitWatch>,
}

/// The exclusive right to start a session, until it is dropped.
pub struct SessionReservation {
    registry: Arc<SessionRegistry>,
    id: Id,
}

impl Drop for SessionReservation {
    fn drop(&mut self) {
        self.registry.state.lock().starting.remove(&self.id);
    }
}

impl SessionRegistry {
    /// Reserves a session to start it; `None` if it is already reserved or running.
    pub fn reserve(self: &Arc<Self>, id: &Id) -> Option<SessionReservation> {
        let mut state = self.state.lock();
        let is_free = !state.running.contains_key(id) && state.starting.insert(id.clone());
        is_free.then(|| SessionReservation { registry: self.clone(), id: id.clone() })
    }

    pub fn insert(&self, session: SessionHandle) {
        self.state.lock().running.insert(session.id().clone(), session);
        self.run_started.notify_waiters();
    }

    /// Removes a run that has ended completely. Another run of the same session, which may have started by now, stays.
    pub fn remove(&self, ended: &SessionHandle) {
        let mut state = self.state.lock();
        if state.running.get(ended.id()).is_some_and(|running| running.is_same_run(ended)) {
            state.running.remove(ended.id());
        }
    }

    pub fn get(&self, id: &str) -> Option<SessionHandle> {
        self.state.lock().running.get(id).cloned()
    }

    pub fn list(&self) -> Vec<SessionHandle> {
        self.state.lock().running.values().cloned().collect()
    }

    /// Returns a future that completes when a run starts here.
    pub fn run_started(&self) -> Notified<'_> {
        self.run_started.notified()
    }

    /// Returns a receiver that changes when this process or another commits to the log.
    pub fn watch_commits(&self, log: &dyn SessionLog) -> watch::Receiver<()> {
        let notifier = self.commits.get_or_init(|| {
            let changed = watch::Sender::default();
            let sender = changed.clone();
            let watch = log.watch_commits(Box::new(move || sender.send_replace(())));
            CommitNotifier { changed, _watch: watch }
        });
        notifier.changed.subscribe()
    }

    /// Returns the tail of a session that another process runs, and whether it is new, so that the caller must watch
    /// it.
    pub fn foreign_tail(&self, id: &Id, last_seq: u64) -> (Arc<LiveTail>, bool) {
        let mut state = self.state.lock();
        if let Some(tail) = state.foreign.get(id).and_then(Weak::upgrade) {
            return (tail, false);
        }
        state.foreign.retain(|_, tail| tail.strong_count() > 0);
        let tail = LiveTail::new(id.clone(), last_seq, self.budget.clone());
        state.foreign.insert(id.clone(), Arc::downgrade(&tail));
        (tail, true)
    }

    pub fn forget_foreign_tail(&self, id: &Id) {
        self.state.lock().foreign.remove(id);
    }
}
