//! Following any session of the log: one that runs here, one that another process runs, one that has ended.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use switchboard_event::Id;
use switchboard_store::{State, StoreError};
use tokio::time::sleep;

use crate::{Engine, Follower, StartError, hub::Head};

/// How often the log is looked at for what another process has added: at first, and when it has been quiet.
const SOON: Duration = Duration::from_millis(10);
const LATE: Duration = Duration::from_millis(200);

/// How often the log is looked at for another run of a session that has ended.
const AGAIN: Duration = Duration::from_secs(2);

/// How often we look whether that process still lives.
const ALIVE: Duration = Duration::from_secs(1);

impl Engine {
    /// Follows a session from behind an event.
    ///
    /// # Errors
    /// If there is none, or the log cannot be read.
    pub fn follow(&self, id: &str, after: u64) -> Result<Follower, StoreError> {
        if let Some(session) = self.session(id) {
            return Ok(session.follow_after(after));
        }
        let session = self.log().session(id)?.ok_or_else(|| StoreError::NoSession(id.to_owned()))?;
        let head = if session.state.is_final() {
            Head::ended(session.id, session.head, self.rooms().room.clone())
        } else {
            let (head, is_new) = self.rooms().foreign(&session.id, session.head);
            if is_new {
                tokio::spawn(watch(self.clone(), session.id, Arc::downgrade(&head)));
            }
            head
        };
        Ok(Follower::new(head, self.log().clone(), after))
    }

    /// Waits until a session goes on that has ended, seen up to its last event: here, or in another process.
    ///
    /// # Errors
    /// If there is no such session any more, or the log cannot be read.
    pub async fn goes_on(&self, id: &str, seen: u64) -> Result<(), StoreError> {
        loop {
            let began = self.rooms().began();
            tokio::pin!(began);
            began.as_mut().enable();
            if self.session(id).is_some_and(|session| !session.is_over()) {
                return Ok(());
            }
            let (engine, name) = (self.clone(), id.to_owned());
            let found = tokio::task::spawn_blocking(move || engine.log().session(&name)).await;
            let session = found.map_err(|_| StoreError::Closed)??;
            let session = session.ok_or_else(|| StoreError::NoSession(id.to_owned()))?;
            if session.head > seen || !session.state.is_final() {
                // It may be just about to run here, which is better to follow than the log.
                drop(tokio::time::timeout(SOON, began).await);
                return Ok(());
            }
            // Whatever began here may have been another session: then the log is looked at once more.
            drop(tokio::time::timeout(AGAIN, began).await);
        }
    }
}

/// Tells those who follow what the log gets from another process, as long as somebody does.
async fn watch(engine: Engine, id: Id, head: Weak<Head>) {
    let (mut pause, mut since) = (SOON, Duration::ZERO);
    loop {
        sleep(pause).await;
        let Some(head) = head.upgrade() else { break };
        since += pause;
        let check = since >= ALIVE;
        let (engine, name) = (engine.clone(), id.clone());
        let looked = tokio::task::spawn_blocking(move || look(&engine, &name, check)).await;
        let (last, state) = match looked {
            Ok(Ok(Some(found))) => found,
            Ok(Ok(None)) => {
                head.vanish();
                break;
            }
            // Busy, or full, or no longer ours to mend: the session itself may go on.
            Ok(Err(_)) | Err(_) => {
                pause = LATE;
                continue;
            }
        };
        pause = if last > head.last() { SOON } else { (pause * 5 / 4).min(LATE) };
        since = if check { Duration::ZERO } else { since };
        head.reach(last);
        if state.is_final() {
            head.end();
            break;
        }
    }
    engine.rooms().forget(&id);
}

fn look(engine: &Engine, id: &str, check: bool) -> Result<Option<(u64, State)>, StartError> {
    if check {
        // If its process is gone, the session is ended here.
        engine.recover()?;
    }
    Ok(engine.log().session(id)?.map(|session| (session.head, session.state)))
}
