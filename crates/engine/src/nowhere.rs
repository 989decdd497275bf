//! A log that keeps nothing, for sessions that nobody shall see: those in which an agent is only asked what it offers.

use switchboard_event::{Id, Timestamp};
use switchboard_store::{
    Abandoned, At, Batch, Checkpoint, Filter, Log, NewSession, Page, Retention, Row, Run, Session, StoreError,
};

/// Keeps nothing.
pub struct Nowhere;

impl Log for Nowhere {
    fn create(&self, _: NewSession) -> Result<(), StoreError> {
        Ok(())
    }

    fn claim(&self, session: &str, _: Option<u64>) -> Result<Session, StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn append(&self, batch: Batch) {
        (batch.done)(Ok(()));
    }

    fn session(&self, _: &str) -> Result<Option<Session>, StoreError> {
        Ok(None)
    }

    fn sessions(&self, _: &Filter) -> Result<Vec<Session>, StoreError> {
        Ok(Vec::new())
    }

    fn rows(&self, session: &str, _: Page) -> Result<Vec<Row>, StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn runs(&self, session: &str) -> Result<Vec<Run>, StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn abandoned(&self) -> Result<Vec<Abandoned>, StoreError> {
        Ok(Vec::new())
    }

    fn take_over(&self) -> Result<Vec<Abandoned>, StoreError> {
        Ok(Vec::new())
    }

    fn archive(&self, session: &str, _: bool) -> Result<(), StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn delete(&self, session: &str) -> Result<(), StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }

    fn expire(&self, _: &Retention, _: Timestamp) -> Result<Vec<Id>, StoreError> {
        Ok(Vec::new())
    }

    fn save_checkpoint(&self, _: &str, _: Checkpoint) {}

    fn checkpoint(&self, session: &str, _: &str, _: &str, _: At) -> Result<Option<Checkpoint>, StoreError> {
        Err(StoreError::NoSession(session.to_owned()))
    }
}
