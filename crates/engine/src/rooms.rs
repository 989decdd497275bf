//! The sessions that run in this process, and the ends of those that others run.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use switchboard_event::Id;
use tokio::sync::{Notify, futures::Notified};

use crate::{
    Session,
    hub::{Head, Room},
};

/// The sessions that this process knows.
#[derive(Default)]
pub struct Rooms {
    pub room: Arc<Room>,
    state: Mutex<State>,
    /// A run began.
    began: Notify,
}

#[derive(Default)]
struct State {
    live: HashMap<Id, Session>,
    /// Sessions that are about to run here.
    starting: HashSet<Id>,
    /// The ends of sessions that another process runs, while somebody here follows them.
    foreign: HashMap<Id, Weak<Head>>,
}

/// The right to start a session, as long as it is kept.
pub struct Reserved {
    rooms: Arc<Rooms>,
    id: Id,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.rooms.state().starting.remove(&self.id);
    }
}

impl Rooms {
    /// Reserves a session for one who starts it; nothing if somebody else does, or it runs.
    pub fn reserve(self: &Arc<Self>, id: &Id) -> Option<Reserved> {
        let mut state = self.state();
        let free = !state.live.contains_key(id) && state.starting.insert(id.clone());
        free.then(|| Reserved { rooms: self.clone(), id: id.clone() })
    }

    pub fn enter(&self, session: Session) {
        self.state().live.insert(session.id().clone(), session);
        self.began.notify_waiters();
    }

    /// Is told when a run begins here.
    pub fn began(&self) -> Notified<'_> {
        self.began.notified()
    }

    /// The run has ended, and nothing of it is left. Another run of the same session, which may be there by now, stays.
    pub fn leave(&self, ended: &Session) {
        let mut state = self.state();
        if state.live.get(ended.id()).is_some_and(|live| Arc::ptr_eq(&live.head, &ended.head)) {
            state.live.remove(ended.id());
        }
    }

    pub fn get(&self, id: &str) -> Option<Session> {
        self.state().live.get(id).cloned()
    }

    pub fn all(&self) -> Vec<Session> {
        self.state().live.values().cloned().collect()
    }

    /// The end of a session that another process runs, and whether it is new here, so that somebody must watch it.
    pub fn foreign(&self, id: &Id, last: u64) -> (Arc<Head>, bool) {
        let mut state = self.state();
        if let Some(head) = state.foreign.get(id).and_then(Weak::upgrade) {
            return (head, false);
        }
        state.foreign.retain(|_, head| head.strong_count() > 0);
        let head = Head::new(id.clone(), last, self.room.clone());
        state.foreign.insert(id.clone(), Arc::downgrade(&head));
        (head, true)
    }

    /// Nobody watches it any more.
    pub fn forget(&self, id: &Id) {
        self.state().foreign.remove(id);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
