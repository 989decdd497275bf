//! Removing the events and the checkpoints of deleted sessions, a little at a time, so that others can write in between. What a crash
//! leaves undone is done by the next process that opens the log.

use std::collections::VecDeque;

use rusqlite::{Connection, Params};

use super::{
    checkpoint::Checkpointer,
    file,
    group::{Answer, Reply},
    read::{Place, SEQ},
    reserve::DiskReserve,
};
use crate::StoreError;

/// About so many bytes are removed at a time.
const PORTION: u64 = 1 << 20;

/// So many pages of the file are given back at a time.
const PAGES: i64 = 512;

/// The same on a full disk, where what is written must fit into the reserve until it is moved into the file. A page that
/// becomes free is not written if the same transaction gives it back: so as many are given back as a portion has.
const FULL_DISK_PORTION: u64 = 512 << 10;
const FULL_DISK_PAGES: i64 = 1024;

/// How much is removed by one transaction.
#[derive(Clone, Copy)]
struct Portion {
    bytes: u64,
    pages: i64,
}

/// Sessions whose events are to be removed, and who waits for that.
pub(super) struct Sweeper(VecDeque<(u64, Option<Reply>)>);

impl Sweeper {
    /// Begins with what an earlier process left.
    pub fn new(connection: &Connection) -> Result<Self, StoreError> {
        let mut select = connection.prepare("SELECT session FROM garbage")?;
        let left = select.query_map([], |row| Ok((row.get(0)?, None)))?;
        Ok(Self(left.collect::<Result<_, _>>()?))
    }

    pub fn add(&mut self, session: u64, reply: Option<Reply>) {
        self.0.push_back((session, reply));
    }

    /// Answers once everything that is queued now is removed.
    pub fn add_waiter(&mut self, reply: Reply) {
        let Some((last, waiting)) = self.0.back_mut() else { return reply.send(Ok(Answer::Written)) };
        match waiting {
            None => *waiting = Some(reply),
            // The removal of a session that is gone already takes one small step.
            Some(_) => {
                let last = *last;
                self.0.push_back((last, Some(reply)));
            }
        }
    }

    pub fn is_idle(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes a portion. What fails is tried again by the next process.
    pub fn step(&mut self, connection: &Connection, checkpointer: &Checkpointer, reserve: &DiskReserve) {
        let Some((session, _)) = self.0.front() else { return };
        let removed = match remove(connection, *session, reserve) {
            Err(StoreError::Full) if reserve.release() => remove(connection, *session, reserve),
            removed => removed,
        };
        if matches!(removed, Ok(false)) {
            return;
        }
        if self.0.len() == 1 {
            checkpointer.give_back();
        } else {
            checkpointer.wake();
        }
        if let Some((_, Some(reply))) = self.0.pop_front() {
            reply.send(removed.map(|_| Answer::Written));
        }
    }
}

/// Removes a portion of a session's events, and gives pages of the file back. Says whether that was all.
fn remove(connection: &Connection, session: u64, reserve: &DiskReserve) -> Result<bool, StoreError> {
    let is_low = reserve.is_low();
    let portion = match is_low {
        true => Portion { bytes: FULL_DISK_PORTION, pages: FULL_DISK_PAGES },
        false => Portion { bytes: PORTION, pages: PAGES },
    };
    let transaction = file::begin(connection)?;
    let was_all =
        !remove_events(&transaction, session, portion)? && !remove_checkpoints(&transaction, session, portion)?;
    if was_all {
        transaction.prepare_cached("DELETE FROM garbage WHERE session = ?1")?.execute([session])?;
    }
    let given_back = vacuum(&transaction, portion)?;
    transaction.commit()?;
    if is_low && reserve.has_space_for(file::wal_growth(connection)?) {
        // The write-ahead log begins anew once all of it was moved.
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    Ok(was_all && given_back == 0)
}

/// Removes some events, the last ones first: their pages are most often the last of the file, which then becomes shorter
/// without moving any. Says whether there were any.
fn remove_events(connection: &Connection, session: u64, portion: Portion) -> Result<bool, StoreError> {
    let places = "SELECT place, octet_length(body) FROM events WHERE place BETWEEN ?1 AND ?2 ORDER BY place DESC";
    let all = (Place { number: session, seq: 0 }, Place { number: session, seq: SEQ });
    let Some(first) = last_of_portion(connection, places, all, portion)? else { return Ok(false) };
    connection.prepare_cached("DELETE FROM events WHERE place BETWEEN ?1 AND ?2")?.execute((first, all.1))?;
    Ok(true)
}

/// Removes some checkpoints. Says whether there were any.
fn remove_checkpoints(connection: &Connection, session: u64, portion: Portion) -> Result<bool, StoreError> {
    let rows = "SELECT rowid, octet_length(state) FROM checkpoints WHERE session = ?1 ORDER BY rowid";
    let Some(last) = last_of_portion(connection, rows, [session], portion)? else { return Ok(false) };
    connection
        .prepare_cached("DELETE FROM checkpoints WHERE session = ?1 AND rowid <= ?2")?
        .execute((session, last))?;
    Ok(true)
}

/// Gives free pages back to the disk. Says how many.
fn vacuum(connection: &Connection, portion: Portion) -> Result<i64, StoreError> {
    let free = || connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0));
    let before = free()?;
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({})", portion.pages))?;
    let mut pages = vacuum.query([])?;
    // Every step gives one page back.
    while pages.next()?.is_some() {}
    Ok(before - free()?)
}

/// The key up to which rows make a portion; nothing if there are none. The question gives keys and sizes.
fn last_of_portion(
    connection: &Connection,
    question: &str,
    about: impl Params,
    portion: Portion,
) -> Result<Option<i64>, StoreError> {
    let mut select = connection.prepare_cached(question)?;
    let mut rows = select.query(about)?;
    let (mut last, mut bytes) = (None, 0);
    while let Some(row) = rows.next()? {
        last = Some(row.get(0)?);
        bytes += row.get::<_, u64>(1)?;
        if bytes >= portion.bytes {
            break;
        }
    }
    Ok(last)
}
