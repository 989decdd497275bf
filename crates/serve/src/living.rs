//! The sessions that run in this process, by their ids.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_engine::Session;
use switchboard_event::Id;

/// The sessions that run in this process.
#[derive(Clone, Default)]
pub struct Living(Arc<Mutex<HashMap<Id, Session>>>);

impl Living {
    /// Keeps a session until it ends.
    pub fn insert(&self, session: &Session) {
        self.all_by_id().insert(session.id().clone(), session.clone());
    }

    /// It has ended.
    pub fn remove(&self, id: &str) {
        self.all_by_id().remove(id);
    }

    /// A session.
    pub fn get(&self, id: &str) -> Option<Session> {
        self.all_by_id().get(id).cloned()
    }

    /// The ids of all.
    pub fn ids(&self) -> Vec<Id> {
        self.all_by_id().keys().cloned().collect()
    }

    fn all_by_id(&self) -> MutexGuard<'_, HashMap<Id, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
