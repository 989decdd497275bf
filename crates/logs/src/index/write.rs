//! Writes to the index: batches, and logs that are new, moved or deleted.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use switchboard_agents::{ScanDepth, SessionFacts};

use super::{
    LogIndex,
    block::EncodedBlock,
    segment::{self, FilterSegment},
};
use crate::scan::DiscoveredLog;

impl LogIndex {
    /// Writes batches in one transaction. Returns which were written; the others were outdated.
    pub fn write_batches(&mut self, portions: &[IndexBatch]) -> rusqlite::Result<Vec<bool>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let blocks: usize = portions.iter().map(|portion| portion.blocks.len()).sum();
        let mut shelf =
            if blocks < segment::MIN_SEGMENT_BLOCKS { None } else { Some(FilterSegment::new(&transaction)?) };
        let written = portions.iter().map(|portion| write_batch(&transaction, portion, shelf.as_mut()));
        let written = written.collect::<rusqlite::Result<_>>()?;
        match shelf {
            Some(shelf) => shelf.write(&transaction)?,
            None if blocks > 0 => segment::collect_loose_filters(&transaction)?,
            None => {}
        }
        transaction.commit()?;
        Ok(written)
    }

    /// Records new, moved and deleted logs. Returns the IDs of the new ones, in order.
    pub fn update_units(
        &mut self,
        new: &[&DiscoveredLog],
        moved: &[(i64, &DiscoveredLog)],
        gone: &[i64],
    ) -> rusqlite::Result<Vec<i64>> {
        if new.is_empty() && moved.is_empty() && gone.is_empty() {
            return Ok(Vec::new());
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (unit, seen) in moved {
            move_unit(&transaction, *unit, seen)?;
        }
        for unit in gone {
            transaction.prepare_cached("UPDATE unit SET gone = 1 WHERE id = ?1")?.execute([unit])?;
        }
        let numbers = new.iter().map(|seen| insert_unit(&transaction, seen)).collect::<rusqlite::Result<_>>()?;
        transaction.commit()?;
        Ok(numbers)
    }
}

impl LogIndex {
    /// Schedules all existing logs to be read again.
    pub fn mark_stale(&self) -> rusqlite::Result<()> {
        self.connection.execute(&format!("{MARK_STALE_SQL} WHERE NOT gone"), []).map(drop)
    }

    /// Schedules logs to be read again that have no copies of their records.
    pub fn mark_stale_without_copies(&self) -> rusqlite::Result<()> {
        let sql = format!("{MARK_STALE_SQL} WHERE NOT gone AND text_at > 0 AND id NOT IN (SELECT unit FROM raw)");
        self.connection.execute(&sql, []).map(drop)
    }

    /// Removes deleted sessions from the index completely.
    pub fn delete_units(&mut self, units: &[i64]) -> rusqlite::Result<()> {
        if units.is_empty() {
            return Ok(());
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for unit in units {
            delete_unit_content(&transaction, *unit)?;
            transaction.prepare_cached("DELETE FROM unit WHERE id = ?1")?.execute([unit])?;
        }
        segment::compact_segments(&transaction)?;
        transaction.commit()
    }
}

/// A log without a mark is not assumed to have only grown.
const MARK_STALE_SQL: &str = "UPDATE unit SET tokens_seen = NULL, text_seen = NULL, mark = NULL, version = version + 1";

fn insert_unit(connection: &Connection, seen: &DiscoveredLog) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO unit (name, agent, machine, path, part, session, parent, archived, bytes, inode, facts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, '{}')
         ON CONFLICT (name) DO UPDATE SET gone = 0 RETURNING id",
    )?;
    statement.query_row(
        params![
            seen.name,
            seen.agent,
            seen.machine,
            seen.path.to_string_lossy(),
            seen.part,
            seen.session_id(),
            seen.file.parent,
            seen.file.archived,
            seen.bytes,
            seen.inode.cast_signed(),
        ],
        |row| row.get(0),
    )
}

fn move_unit(connection: &Connection, unit: i64, seen: &DiscoveredLog) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached(
        "UPDATE OR REPLACE unit SET name = ?2, path = ?3, archived = ?4, gone = 0, bytes = ?5, inode = ?6 WHERE id = ?1",
    )?;
    let (path, inode) = (seen.path.to_string_lossy(), seen.inode.cast_signed());
    statement.execute(params![unit, seen.name, path, seen.file.archived, seen.bytes, inode])
}

/// Writes a batch. Returns whether it was still current.
fn write_batch(
    transaction: &Transaction<'_>,
    portion: &IndexBatch,
    mut shelf: Option<&mut FilterSegment>,
) -> rusqlite::Result<bool> {
    if portion.is_kept {
        return write_read_errors(transaction, portion).map(|()| true);
    }
    if !advance_unit(transaction, portion)? {
        return Ok(false);
    }
    if portion.fresh {
        delete_unit_content(transaction, portion.unit)?;
    }
    if !portion.spent.is_empty() {
        let mut insert = transaction.prepare_cached("INSERT INTO spent (unit, packed) VALUES (?1, ?2)")?;
        insert.execute(params![portion.unit, portion.spent])?;
    }
    if let Some(block) = portion.replaces {
        transaction.prepare_cached("DELETE FROM words WHERE block = ?1")?.execute([block])?;
        transaction.prepare_cached("DELETE FROM text WHERE block = ?1")?.execute([block])?;
    }
    for block in &portion.blocks {
        let mut insert = transaction.prepare_cached("INSERT INTO text (passages) VALUES (?1)")?;
        let number = insert.insert(params![block.text])?;
        segment::insert_block_filter(transaction, shelf.as_deref_mut(), number, portion.unit, &block.filter)?;
    }
    if let Some((begin, records)) = &portion.raw {
        let mut insert = transaction.prepare_cached("INSERT INTO raw (unit, begin, records) VALUES (?1, ?2, ?3)")?;
        insert.execute(params![portion.unit, begin, records])?;
    }
    write_read_errors(transaction, portion)?;
    Ok(true)
}

/// Records read errors. Repeated attempts count once.
fn write_read_errors(connection: &Connection, portion: &IndexBatch) -> rusqlite::Result<()> {
    for (what, place, times) in &portion.troubles {
        let mut insert = connection.prepare_cached(
            "INSERT INTO trouble (unit, what, place, times) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET times = CASE WHEN ?5 THEN 0 ELSE times END + excluded.times",
        )?;
        insert.execute(params![portion.unit, what, place, times, portion.is_kept])?;
    }
    Ok(())
}

/// Deletes the content of a log.
fn delete_unit_content(connection: &Connection, unit: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM text WHERE block IN (SELECT block FROM words WHERE unit = ?1)",
        "DELETE FROM words WHERE unit = ?1",
        "DELETE FROM spent WHERE unit = ?1",
        "DELETE FROM raw WHERE unit = ?1",
        "DELETE FROM trouble WHERE unit = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([unit])?;
    }
    Ok(())
}

/// Advances the read position if the version is still the expected one. Reading for text includes reading for tokens.
fn advance_unit(connection: &Connection, portion: &IndexBatch) -> rusqlite::Result<bool> {
    let all = portion.depth == ScanDepth::All;
    let facts =
        serde_json::to_string(&portion.facts).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let mut update = connection.prepare_cached(
        "UPDATE unit SET version = version + 1, facts = ?3, time = max(time, ?4), mark = ?10,
             records = CASE WHEN ?5 THEN CASE WHEN ?6 THEN 0 ELSE records END + ?7 ELSE records END,
             text_at = CASE WHEN ?5 THEN ?8 WHEN ?6 THEN 0 ELSE text_at END,
             text_state = CASE WHEN ?5 THEN ?9 WHEN ?6 THEN NULL ELSE text_state END,
             text_seen = CASE WHEN ?5 OR ?6 THEN NULL ELSE text_seen END,
             tokens_state = CASE WHEN ?6 OR ?8 >= tokens_at THEN ?9 ELSE tokens_state END,
             tokens_seen = CASE WHEN ?6 OR ?8 > tokens_at THEN NULL ELSE tokens_seen END,
             tokens_at = CASE WHEN ?6 THEN ?8 ELSE max(tokens_at, ?8) END
         WHERE id = ?1 AND version = ?2",
    )?;
    let changed = update.execute(params![
        portion.unit,
        portion.version,
        facts,
        portion.time,
        all,
        portion.fresh,
        portion.records,
        portion.at,
        portion.state,
        portion.mark,
    ])?;
    if let (1, Some(end)) = (changed, &portion.end) {
        let mut update = connection.prepare_cached(
            "UPDATE unit SET tokens_seen = CASE WHEN tokens_at <= ?5 THEN ?2 ELSE tokens_seen END,
                 text_seen = CASE WHEN ?3 THEN ?2 ELSE text_seen END, torn = ?4,
                 session = coalesce(?6, session), parent = coalesce(?7, parent)
             WHERE id = ?1",
        )?;
        let (torn, session, parent) = (end.torn, &end.session, &end.parent);
        update.execute(params![portion.unit, end.seen, all, torn, portion.at, session, parent])?;
    }
    Ok(changed == 1)
}

/// The content read from a range of a log.
pub struct IndexBatch {
    pub unit: i64,
    /// The expected version of the log; if it differs, another writer was faster.
    pub version: i64,
    /// What the log was read for.
    pub depth: ScanDepth,
    /// The log is read from the beginning: its previous content is deleted.
    pub fresh: bool,
    /// The log could not be read: its previous content stays, and only errors are added.
    pub is_kept: bool,
    /// The read position.
    pub at: u64,
    /// The number of bytes read in this batch.
    pub read: u64,
    pub records: u64,
    /// Encoded replies; empty if there are none.
    pub spent: Vec<u8>,
    pub blocks: Vec<EncodedBlock>,
    /// A block that the first of `blocks` replaces.
    pub replaces: Option<i64>,
    /// The raw records, compressed, and their offset.
    pub raw: Option<(u64, Vec<u8>)>,
    /// Read errors: message, offset, count.
    pub troubles: Vec<(String, Option<u64>, u64)>,
    pub facts: SessionFacts,
    /// Scanner state for resuming.
    pub state: Vec<u8>,
    /// The time of the last record.
    pub time: i64,
    /// Fingerprint of the bytes read so far, if the form of the log allows one.
    pub mark: Option<Vec<u8>>,
    /// Set if the log was read to its end.
    pub end: Option<LogEnd>,
}

impl IndexBatch {
    /// Creates an empty batch.
    pub fn new(unit: i64, version: i64, depth: ScanDepth) -> Self {
        Self {
            unit,
            version,
            depth,
            fresh: false,
            is_kept: false,
            at: 0,
            read: 0,
            records: 0,
            spent: Vec::new(),
            blocks: Vec::new(),
            replaces: None,
            raw: None,
            troubles: Vec::new(),
            facts: SessionFacts::default(),
            state: Vec::new(),
            time: 0,
            mark: None,
            end: None,
        }
    }
}

pub struct LogEnd {
    /// State of the file, to detect changes.
    pub seen: Option<String>,
    /// Bytes after the last complete record.
    pub torn: u64,
    /// The session, if the file name does not contain it.
    pub session: Option<String>,
    /// The parent session, if the file name does not contain it.
    pub parent: Option<String>,
}
