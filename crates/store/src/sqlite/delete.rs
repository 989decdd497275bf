//! Removes the events and checkpoints of deleted sessions in small transactions, so that others can write in between.
//! After a crash, the next process that opens the log continues.

use std::collections::VecDeque;

use rusqlite::{Connection, Params};

use super::{
    checkpoint::WalCheckpointer,
    file,
    group::{WriteReply, WriteResponse},
    read::{EventKey, MAX_SEQ},
    reserve::DiskReserve,
};
use crate::StoreError;

/// The approximate number of bytes to remove in one transaction.
const SWEEP_BYTES: u64 = 1 << 20;

/// The number of pages to release in one transaction.
const VACUUM_PAGES: i64 = 512;

/// The same on a full disk, where the write-ahead log must fit into the reserve until the checkpoint. A freed page is
/// not written if the same transaction releases it, so all pages of a batch are released.
const FULL_DISK_SWEEP_BYTES: u64 = 512 << 10;
const FULL_DISK_VACUUM_PAGES: i64 = 1024;

/// The amount to remove in one transaction.
#[derive(Clone, Copy)]
struct SweepBatch {
    bytes: u64,
    pages: i64,
}

/// The deleted sessions whose events are still to be removed, with the callers that wait for it.
pub(super) struct SessionSweeper(VecDeque<(u64, Option<WriteReply>)>);

impl SessionSweeper {
    /// Starts with the sessions that an earlier process left.
    pub fn new(connection: &Connection) -> Result<Self, StoreError> {
        let mut select = connection.prepare("SELECT session FROM garbage")?;
        let left = select.query_map([], |row| Ok((row.get(0)?, None)))?;
        Ok(Self(left.collect::<Result<_, _>>()?))
    }

    pub fn add_session(&mut self, session: u64, reply: Option<WriteReply>) {
        self.0.push_back((session, reply));
    }

    /// Replies once everything that is queued now is removed.
    pub fn add_waiter(&mut self, reply: WriteReply) {
        let Some((last, waiting)) = self.0.back_mut() else { return reply.send(Ok(WriteResponse::Written)) };
        match waiting {
            None => *waiting = Some(reply),
            // Removing a session twice takes one cheap extra step.
            Some(_) => {
                let last = *last;
                self.0.push_back((last, Some(reply)));
            }
        }
    }

    pub fn is_idle(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes a batch. After a failure, the next process tries again.
    pub fn sweep_step(&mut self, connection: &Connection, checkpointer: &WalCheckpointer, reserve: &DiskReserve) {
        let Some((session, _)) = self.0.front() else { return };
        let removed = match remove_batch(connection, *session, reserve) {
            Err(StoreError::Full) if reserve.release() => remove_batch(connection, *session, reserve),
            removed => removed,
        };
        if matches!(removed, Ok(false)) {
            return;
        }
        if self.0.len() == 1 {
            checkpointer.request_release();
        } else {
            checkpointer.wake();
        }
        if let Some((_, Some(reply))) = self.0.pop_front() {
            reply.send(removed.map(|_| WriteResponse::Written));
        }
    }
}

/// Removes a batch of a session's events and releases pages of the file. Returns whether that was everything.
fn remove_batch(connection: &Connection, session: u64, reserve: &DiskReserve) -> Result<bool, StoreError> {
    let is_low = reserve.is_low();
    let portion = match is_low {
        true => SweepBatch { bytes: FULL_DISK_SWEEP_BYTES, pages: FULL_DISK_VACUUM_PAGES },
        false => SweepBatch { bytes: SWEEP_BYTES, pages: VACUUM_PAGES },
    };
    let transaction = file::begin_write(connection)?;
    let was_all =
        !remove_events(&transaction, session, portion)? && !remove_checkpoints(&transaction, session, portion)?;
    if was_all {
        transaction.prepare_cached("DELETE FROM garbage WHERE session = ?1")?.execute([session])?;
    }
    let given_back = vacuum_pages(&transaction, portion)?;
    transaction.commit()?;
    if is_low && reserve.has_space_for(file::wal_growth(connection)?) {
        // The write-ahead log restarts once it is fully checkpointed.
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    Ok(was_all && given_back == 0)
}

/// Removes some events, the last ones first: their pages are usually at the end of the file, which then shrinks without
/// moving pages. Returns whether there were any.
fn remove_events(connection: &Connection, session: u64, portion: SweepBatch) -> Result<bool, StoreError> {
    let places = "SELECT place, octet_length(body) FROM events WHERE place BETWEEN ?1 AND ?2 ORDER BY place DESC";
    let all = (EventKey { number: session, seq: 0 }, EventKey { number: session, seq: MAX_SEQ });
    let Some(first) = last_key_of_batch(connection, places, all, portion)? else { return Ok(false) };
    connection.prepare_cached("DELETE FROM events WHERE place BETWEEN ?1 AND ?2")?.execute((first, all.1))?;
    Ok(true)
}

/// Removes some checkpoints. Returns whether there were any.
fn remove_checkpoints(connection: &Connection, session: u64, portion: SweepBatch) -> Result<bool, StoreError> {
    let rows = "SELECT rowid, octet_length(state) FROM checkpoints WHERE session = ?1 ORDER BY rowid";
    let Some(last) = last_key_of_batch(connection, rows, [session], portion)? else { return Ok(false) };
    connection
        .prepare_cached("DELETE FROM checkpoints WHERE session = ?1 AND rowid <= ?2")?
        .execute((session, last))?;
    Ok(true)
}

/// Releases free pages to the disk. Returns their number.
fn vacuum_pages(connection: &Connection, portion: SweepBatch) -> Result<i64, StoreError> {
    let free = || connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0));
    let before = free()?;
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({})", portion.pages))?;
    let mut pages = vacuum.query([])?;
    // Every step releases one page.
    while pages.next()?.is_some() {}
    Ok(before - free()?)
}

/// Returns the last key of a batch; `None` if there are no rows. The query selects keys and sizes.
fn last_key_of_batch(
    connection: &Connection,
    question: &str,
    about: impl Params,
    portion: SweepBatch,
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
