//! The entries of the sessions that somebody looked at lately.

use std::sync::{Arc, Mutex, PoisonError};

use switchboard_event::Id;
use switchboard_store::Log;

use super::{desk::Desk, ledger::Priced, source::Logged};

/// So much may they take together; what nobody looks at goes first.
const MOST: usize = 96 << 20;

/// The entries of many sessions, the one that was looked at last at the end.
#[derive(Default)]
pub struct Desks(Mutex<Vec<(Id, Arc<Desk>)>>);

impl Desks {
    /// The entries of a session.
    pub fn of(&self, session: &Id, log: &Arc<dyn Log>, prices: &Arc<Priced>) -> Arc<Desk> {
        let mut desks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = desks.iter().position(|(id, _)| id == session).map(|at| desks.remove(at));
        let (id, desk) = known.unwrap_or_else(|| {
            let media = format!("/api/page/sessions/{session}/media");
            let events = Logged { log: log.clone(), session: session.clone(), media };
            (session.clone(), Arc::new(Desk::new(Box::new(events), prices.clone())))
        });
        desks.push((id, desk.clone()));
        desk
    }

    /// Forgets what takes too much room. Waits for those who work at a desk.
    pub fn tidy(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut room = MOST;
        let mut kept = Vec::new();
        for (id, desk) in all.into_iter().rev() {
            let bytes = desk.bytes();
            // The last one stays, however large it is.
            if bytes <= room || kept.is_empty() {
                room = room.saturating_sub(bytes);
                kept.push(id);
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _)| kept.contains(id));
    }

    /// A session was deleted.
    pub fn forget(&self, session: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _)| *id != *session);
    }
}
