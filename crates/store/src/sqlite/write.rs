//! The operations inside a write transaction: sessions are created, claimed, appended to and changed. A refused request
//! changes nothing. The caller commits.

use std::fmt;

use rusqlite::{
    Connection, OptionalExtension as _,
    types::{ToSqlOutput, ValueRef},
};
use serde::Serialize as _;
use switchboard_event::{Event, Id, Kind};

use super::{
    checksum::SessionChecksum,
    expire::EndedSession,
    group::{WriteRequest, WriteResponse},
    owners::OwnerDirectory,
    read::{EventKey, MAX_SEQ},
    saved, update,
};
use crate::{EventChunk, NewSession, SessionPatch, SessionPhase, StoreError};

/// An open write transaction.
pub(super) struct WriteTxn<'a> {
    connection: &'a Connection,
    owners: &'a OwnerDirectory,
    owner: Option<u64>,
    /// The number of bytes of events written so far.
    pub written: usize,
}

/// The columns of a session that decide whether a request is allowed.
struct SessionRow {
    number: u64,
    head: u64,
    open: bool,
    owner: Option<u64>,
}

impl<'a> WriteTxn<'a> {
    pub fn new(connection: &'a Connection, owners: &'a OwnerDirectory, owner: Option<u64>) -> Self {
        Self { connection, owners, owner, written: 0 }
    }

    pub fn execute_request(&mut self, work: &WriteRequest) -> Result<WriteResponse, StoreError> {
        match work {
            WriteRequest::Create(new) => self.create_session(new)?,
            WriteRequest::Claim(session, head) => self.claim_session(session, *head)?,
            WriteRequest::Append(session, events, update) => self.append_events(session, events, update)?,
            WriteRequest::Archive(session, archived) => self.set_archived(session, *archived)?,
            WriteRequest::TakeOver => {
                return self.owners.take_over(self.connection, self.own_number()?).map(WriteResponse::Taken);
            }
            WriteRequest::Delete(session) => {
                return Ok(WriteResponse::Deleted { number: self.delete_session(session)?, is_awaited: false });
            }
            WriteRequest::Expire(ended) => {
                return Ok(WriteResponse::Deleted { number: self.expire_session(ended)?, is_awaited: true });
            }
            WriteRequest::Reclaim => return Ok(WriteResponse::Reclaiming),
            WriteRequest::Save(session, checkpoint) => {
                saved::insert_checkpoint(self.connection, session, checkpoint)?;
                self.written += checkpoint.state.len();
            }
        }
        Ok(WriteResponse::Written)
    }

    fn create_session(&self, new: &NewSession) -> Result<(), StoreError> {
        let me = self.own_number()?;
        if self.find_session_row(&new.id)?.is_some() {
            return Err(StoreError::Exists(new.id.clone()));
        }
        let config = update::to_stored_json(&new.id, "config", &new.config)?;
        let created = new.created.as_micros();
        self.connection
            .prepare_cached(
                "INSERT INTO sessions (id, agent, state, open, owner, created, updated, project, cwd, prompt, config)
                 VALUES (?1, ?2, ?3, 1, ?4, ?5, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute((
                new.id.as_str(),
                new.agent.as_str(),
                SessionPhase::Running.name(),
                me,
                created,
                &new.project,
                &new.cwd,
                &new.prompt,
                config,
            ))?;
        Ok(())
    }

    fn claim_session(&self, session: &Id, head: Option<u64>) -> Result<(), StoreError> {
        let me = self.own_number()?;
        let standing = self.require_session_row(session)?;
        let is_elsewhere = standing.open && standing.owner != Some(me) && self.has_live_owner(&standing);
        if is_elsewhere || head.is_some_and(|head| head != standing.head) {
            return Err(StoreError::NotOwner(session.clone()));
        }
        let running = SessionPatch { state: Some(SessionPhase::Running), ..SessionPatch::default() };
        update::apply_patch(self.connection, session, standing.number, &running)?;
        self.connection
            .prepare_cached("UPDATE sessions SET owner = ?2 WHERE number = ?1")?
            .execute((standing.number, me))?;
        Ok(())
    }

    /// Sets the archived flag, regardless of the owner: it does not affect the session's events.
    fn set_archived(&self, session: &Id, archived: bool) -> Result<(), StoreError> {
        let number = self.require_session_row(session)?.number;
        self.connection
            .prepare_cached("UPDATE sessions SET archived = ?2 WHERE number = ?1")?
            .execute((number, archived))?;
        Ok(())
    }

    fn append_events(&mut self, session: &Id, events: &EventChunk, update: &SessionPatch) -> Result<(), StoreError> {
        let me = self.own_number()?;
        let standing = self.require_session_row(session)?;
        if standing.owner != Some(me) {
            return Err(StoreError::NotOwner(session.clone()));
        }
        check_sequence(session, standing.head, events.events())?;
        self.insert_events(session, standing.number, events)?;
        update::advance_head(self.connection, standing.number, events.events())?;
        update::apply_patch(self.connection, session, standing.number, update)
    }

    fn insert_events(&mut self, session: &Id, number: u64, events: &EventChunk) -> Result<(), StoreError> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO events (place, at, kind, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5)")?;
        let checksum = SessionChecksum::new(session);
        let (mut kind, mut name) = (None, String::new());
        for (event, json) in events.iter_from(0) {
            // Most events have the same kind as the one before.
            if kind.replace(event.body.kind()) != Some(event.body.kind()) {
                name = KindName(event.body.kind()).to_string();
            }
            // Serde writes UTF-8, so no check is needed.
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&json));
            let checksum = checksum.event_checksum(event.seq, name.as_bytes(), &json);
            insert.execute((EventKey { number, seq: event.seq }, event.at.as_micros(), &name, body, checksum))?;
        }
        self.written += events.json_len();
        Ok(())
    }

    /// Deletes a session; its events are removed later.
    fn delete_session(&self, session: &Id) -> Result<u64, StoreError> {
        let standing = self.require_session_row(session)?;
        if standing.open && self.has_live_owner(&standing) {
            return Err(StoreError::Open(session.clone()));
        }
        self.discard_session(&standing)
    }

    /// Deletes a session if it has ended, and has not been reopened since the given end.
    fn expire_session(&self, EndedSession { id, at }: &EndedSession) -> Result<u64, StoreError> {
        let standing = self.require_session_row(id)?;
        let mut select = self.connection.prepare_cached("SELECT ended FROM sessions WHERE number = ?1")?;
        let ended: Option<i64> = select.query_row([standing.number], |row| row.get(0))?;
        if standing.open || ended.unwrap_or_default() != *at {
            return Err(StoreError::Open(id.clone()));
        }
        self.discard_session(&standing)
    }

    fn discard_session(&self, standing: &SessionRow) -> Result<u64, StoreError> {
        let statements = [
            "INSERT INTO garbage (session) VALUES (?1)",
            "DELETE FROM runs WHERE session = ?1",
            "DELETE FROM sessions WHERE number = ?1",
        ];
        for statement in statements {
            self.connection.execute(statement, [standing.number])?;
        }
        Ok(standing.number)
    }

    fn own_number(&self) -> Result<u64, StoreError> {
        self.owner.ok_or(StoreError::Unregistered)
    }

    fn has_live_owner(&self, standing: &SessionRow) -> bool {
        standing.owner.is_some_and(|owner| self.owners.is_alive(owner))
    }

    fn require_session_row(&self, session: &Id) -> Result<SessionRow, StoreError> {
        self.find_session_row(session)?.ok_or_else(|| StoreError::NoSession(session.to_string()))
    }

    fn find_session_row(&self, session: &Id) -> Result<Option<SessionRow>, StoreError> {
        let mut select =
            self.connection.prepare_cached("SELECT number, head, open, owner FROM sessions WHERE id = ?1")?;
        let standing = select.query_row([session.as_str()], |row| {
            Ok(SessionRow { number: row.get(0)?, head: row.get(1)?, open: row.get(2)?, owner: row.get(3)? })
        });
        Ok(standing.optional()?)
    }
}

/// Checks that the events belong to the session and continue its head without a gap.
fn check_sequence(session: &Id, head: u64, events: &[Event]) -> Result<(), StoreError> {
    for (event, expected) in events.iter().zip(head + 1..) {
        if event.session != *session {
            return Err(StoreError::Misplaced(session.clone()));
        }
        if event.seq != expected || expected > MAX_SEQ {
            return Err(StoreError::Gap { session: session.clone(), head: expected - 1, found: event.seq });
        }
    }
    Ok(())
}

/// The name of a kind on the wire.
struct KindName(Kind);

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}
