//! What is done inside a transaction: sessions begin, are claimed, grow and change. A request that is refused has
//! changed nothing. Committing is not done here.

use std::fmt;

use rusqlite::{
    Connection, OptionalExtension as _,
    types::{ToSqlOutput, ValueRef},
};
use serde::Serialize as _;
use switchboard_event::{Event, Id, Kind};

use super::{
    checksum::SessionChecksum,
    expire::Ended,
    group::{Answer, Work},
    owners::Owners,
    read::{Place, SEQ},
    saved, update,
};
use crate::{Chunk, NewSession, State, StoreError, Update};

/// A transaction and what is known while it lasts.
pub(super) struct Scene<'a> {
    connection: &'a Connection,
    owners: &'a Owners,
    owner: Option<u64>,
    /// How many bytes of events were written so far.
    pub written: usize,
}

/// What decides whether a request is granted.
struct Standing {
    number: u64,
    head: u64,
    open: bool,
    owner: Option<u64>,
}

impl<'a> Scene<'a> {
    pub fn new(connection: &'a Connection, owners: &'a Owners, owner: Option<u64>) -> Self {
        Self { connection, owners, owner, written: 0 }
    }

    pub fn perform(&mut self, work: &Work) -> Result<Answer, StoreError> {
        match work {
            Work::Create(new) => self.create(new)?,
            Work::Claim(session, head) => self.claim(session, *head)?,
            Work::Append(session, events, update) => self.append(session, events, update)?,
            Work::Archive(session, archived) => self.archive(session, *archived)?,
            Work::TakeOver => return self.owners.take_over(self.connection, self.me()?).map(Answer::Taken),
            Work::Delete(session) => return Ok(Answer::Deleted { number: self.delete(session)?, is_awaited: false }),
            Work::Expire(ended) => return Ok(Answer::Deleted { number: self.expire(ended)?, is_awaited: true }),
            Work::Reclaim => return Ok(Answer::Reclaiming),
            Work::Save(session, checkpoint) => {
                saved::write(self.connection, session, checkpoint)?;
                self.written += checkpoint.state.len();
            }
        }
        Ok(Answer::Written)
    }

    fn create(&self, new: &NewSession) -> Result<(), StoreError> {
        let me = self.me()?;
        if self.standing(&new.id)?.is_some() {
            return Err(StoreError::Exists(new.id.clone()));
        }
        let config = update::json(&new.id, "config", &new.config)?;
        let created = new.created.as_micros();
        self.connection
            .prepare_cached(
                "INSERT INTO sessions (id, agent, state, open, owner, created, updated, project, cwd, prompt, config)
                 VALUES (?1, ?2, ?3, 1, ?4, ?5, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute((
                new.id.as_str(),
                new.agent.as_str(),
                State::Running.name(),
                me,
                created,
                &new.project,
                &new.cwd,
                &new.prompt,
                config,
            ))?;
        Ok(())
    }

    fn claim(&self, session: &Id, head: Option<u64>) -> Result<(), StoreError> {
        let me = self.me()?;
        let standing = self.known(session)?;
        let is_elsewhere = standing.open && standing.owner != Some(me) && self.is_run(&standing);
        if is_elsewhere || head.is_some_and(|head| head != standing.head) {
            return Err(StoreError::NotOwner(session.clone()));
        }
        let running = Update { state: Some(State::Running), ..Update::default() };
        update::apply(self.connection, session, standing.number, &running)?;
        self.connection
            .prepare_cached("UPDATE sessions SET owner = ?2 WHERE number = ?1")?
            .execute((standing.number, me))?;
        Ok(())
    }

    /// Whoever runs it: this says nothing about what happens in it.
    fn archive(&self, session: &Id, archived: bool) -> Result<(), StoreError> {
        let number = self.known(session)?.number;
        self.connection
            .prepare_cached("UPDATE sessions SET archived = ?2 WHERE number = ?1")?
            .execute((number, archived))?;
        Ok(())
    }

    fn append(&mut self, session: &Id, events: &Chunk, update: &Update) -> Result<(), StoreError> {
        let me = self.me()?;
        let standing = self.known(session)?;
        if standing.owner != Some(me) {
            return Err(StoreError::NotOwner(session.clone()));
        }
        follows(session, standing.head, events.events())?;
        self.insert(session, standing.number, events)?;
        update::advance(self.connection, standing.number, events.events())?;
        update::apply(self.connection, session, standing.number, update)
    }

    fn insert(&mut self, session: &Id, number: u64, events: &Chunk) -> Result<(), StoreError> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO events (place, at, kind, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5)")?;
        let checksum = SessionChecksum::new(session);
        let (mut kind, mut name) = (None, String::new());
        for (event, json) in events.from(0) {
            // Most events are of the kind of the one before.
            if kind.replace(event.body.kind()) != Some(event.body.kind()) {
                name = Name(event.body.kind()).to_string();
            }
            // Serde writes UTF-8, so it need not be checked again.
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&json));
            let checksum = checksum.of_event(event.seq, name.as_bytes(), &json);
            insert.execute((Place { number, seq: event.seq }, event.at.as_micros(), &name, body, checksum))?;
        }
        self.written += events.json_len();
        Ok(())
    }

    /// Takes a session away from everybody's eyes; its events are removed later.
    fn delete(&self, session: &Id) -> Result<u64, StoreError> {
        let standing = self.known(session)?;
        if standing.open && self.is_run(&standing) {
            return Err(StoreError::Open(session.clone()));
        }
        self.discard(&standing)
    }

    /// Deletes a session if it has ended, and then when somebody looked.
    fn expire(&self, Ended { id, at }: &Ended) -> Result<u64, StoreError> {
        let standing = self.known(id)?;
        let mut select = self.connection.prepare_cached("SELECT ended FROM sessions WHERE number = ?1")?;
        let ended: Option<i64> = select.query_row([standing.number], |row| row.get(0))?;
        if standing.open || ended.unwrap_or_default() != *at {
            return Err(StoreError::Open(id.clone()));
        }
        self.discard(&standing)
    }

    fn discard(&self, standing: &Standing) -> Result<u64, StoreError> {
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

    fn me(&self) -> Result<u64, StoreError> {
        self.owner.ok_or(StoreError::Unregistered)
    }

    fn is_run(&self, standing: &Standing) -> bool {
        standing.owner.is_some_and(|owner| self.owners.is_alive(owner))
    }

    fn known(&self, session: &Id) -> Result<Standing, StoreError> {
        self.standing(session)?.ok_or_else(|| StoreError::NoSession(session.to_string()))
    }

    fn standing(&self, session: &Id) -> Result<Option<Standing>, StoreError> {
        let mut select =
            self.connection.prepare_cached("SELECT number, head, open, owner FROM sessions WHERE id = ?1")?;
        let standing = select.query_row([session.as_str()], |row| {
            Ok(Standing { number: row.get(0)?, head: row.get(1)?, open: row.get(2)?, owner: row.get(3)? })
        });
        Ok(standing.optional()?)
    }
}

/// The events are of the session, and follow on its head without a gap.
fn follows(session: &Id, head: u64, events: &[Event]) -> Result<(), StoreError> {
    for (event, expected) in events.iter().zip(head + 1..) {
        if event.session != *session {
            return Err(StoreError::Misplaced(session.clone()));
        }
        if event.seq != expected || expected > SEQ {
            return Err(StoreError::Gap { session: session.clone(), head: expected - 1, found: event.seq });
        }
    }
    Ok(())
}

/// The name of a kind, as the wire has it.
struct Name(Kind);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}
