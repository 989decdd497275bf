//! Executes a scan: several threads read, one writes.

use std::{
    collections::{HashSet, VecDeque},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rusqlite::OptionalExtension as _;
use switchboard_agents::ScanDepth;

use super::{
    ScanTask,
    unit_reader::{ResumeState, ScanOptions, UnitReader},
};
use crate::index::LogIndex;
use crate::index::block::{BlockEncoder, FULL_BLOCK_BYTES, TextBlock};
use crate::index::write::IndexBatch;
use crate::{LogsError, ScanProgress, index, read};

/// The maximum number of reading threads.
const MAX_READER_THREADS: usize = 8;

/// The maximum number of batches waiting to be written.
const MAX_QUEUED_BATCHES: usize = 4;

/// How many logs ahead the next file is prefetched.
const PREFETCH_DISTANCE: usize = 8;

/// The maximum size of a transaction.
const MAX_TRANSACTION_BYTES: usize = 16 << 20;

/// How long to wait for further batches of a transaction: each transaction writes whole pages.
const MAX_BATCH_WAIT: Duration = Duration::from_millis(100);

/// The result of a scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanOutcome {
    /// Logs read.
    pub read: u64,
    pub bytes: u64,
    /// Logs of which another writer wrote something first.
    pub lost: usize,
}

/// Executes all tasks.
pub fn run_scan(
    index: &mut LogIndex,
    tasks: Vec<ScanTask>,
    way: &ScanOptions,
    progress: &(dyn Fn(ScanProgress) + Sync),
) -> Result<ScanOutcome, LogsError> {
    let of_bytes = tasks.iter().map(|task| task.remaining_bytes(way.depth)).sum();
    let mut told = ScanProgress { of_bytes, of_files: tasks.len() as u64, ..ScanProgress::default() };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_READER_THREADS).min(tasks.len());
    let queue = Mutex::new(VecDeque::from(tasks));
    let lost = Mutex::new(HashSet::new());
    let (sender, receiver) = sync_channel(MAX_QUEUED_BATCHES);
    thread::scope(|scope| {
        for _ in 0..threads {
            let reader = ScanWorker { queue: &queue, lost: &lost, index: index.reopen()?, way, sender: sender.clone() };
            scope.spawn(move || reader.run_scan());
        }
        drop(sender);
        let written = write_batches(index, &receiver, &lost, &mut told, progress);
        // If writing failed, the readers stop.
        drop(receiver);
        written
    })?;
    let lost = lost.into_inner().len();
    Ok(ScanOutcome { read: told.files, bytes: told.bytes, lost })
}

fn write_batches(
    index: &mut LogIndex,
    receiver: &Receiver<IndexBatch>,
    lost: &Mutex<HashSet<i64>>,
    told: &mut ScanProgress,
    progress: &(dyn Fn(ScanProgress) + Sync),
) -> Result<(), LogsError> {
    while let Ok(first) = receiver.recv() {
        let (mut size, until) = (batch_bytes(&first), Instant::now() + MAX_BATCH_WAIT);
        let mut portions = vec![first];
        while size < MAX_TRANSACTION_BYTES
            && let Ok(next) = receiver.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            size += batch_bytes(&next);
            portions.push(next);
        }
        let written = index.write_batches(&portions).map_err(|error| index.wrap_error(error))?;
        for (portion, written) in portions.iter().zip(written) {
            told.bytes += portion.read;
            told.files += u64::from(portion.end.is_some() && written);
            if !written {
                lost.lock().insert(portion.unit);
            }
        }
        progress(*told);
    }
    Ok(())
}

fn batch_bytes(portion: &IndexBatch) -> usize {
    let blocks: usize = portion.blocks.iter().map(|block| block.text.len() + block.filter.len()).sum();
    blocks + portion.spent.len() + portion.raw.as_ref().map_or(0, |(_, raw)| raw.len())
}

/// A reading thread.
struct ScanWorker<'a> {
    queue: &'a Mutex<VecDeque<ScanTask>>,
    /// Logs that another process has read meanwhile.
    lost: &'a Mutex<HashSet<i64>>,
    index: LogIndex,
    way: &'a ScanOptions,
    sender: SyncSender<IndexBatch>,
}

impl ScanWorker<'_> {
    fn run_scan(&self) {
        let mut press = BlockEncoder::default();
        while let Some(task) = self.next_task() {
            let unit = task.unit;
            let mut send = |portion| {
                let lost = self.lost.lock().contains(&unit);
                !lost && self.sender.send(portion).is_ok()
            };
            if let Some(reading) = UnitReader::new(&task, self.resume_state(&task), self.way, &mut press, &mut send) {
                reading.run();
            }
        }
    }

    /// Returns the next log, and prefetches a later one; the first logs come too soon for that.
    fn next_task(&self) -> Option<ScanTask> {
        let mut queue = self.queue.lock();
        let next = queue.pop_front();
        let later = queue.get(PREFETCH_DISTANCE).filter(|task| task.seen.part.is_none());
        let later = later.map(|task| (task.seen.path.clone(), task.seen.bytes - task.remaining_bytes(self.way.depth)));
        drop(queue);
        if let Some((path, from)) = later {
            read::prefetch_file(&path, from);
        }
        next
    }

    /// Returns the state to resume from. If the scanner state cannot be loaded, scanning starts fresh; the text is
    /// never lost.
    fn resume_state(&self, task: &ScanTask) -> ResumeState {
        let keep = self.has_copies(task.unit).unwrap_or(false);
        if task.fresh {
            return ResumeState { keep, state: None, block: None };
        }
        let state = index::read_scan_state(&self.index.connection, task.unit, self.way.depth).ok().flatten();
        let block = if self.way.depth == ScanDepth::All { self.last_block(task.unit).ok().flatten() } else { None };
        ResumeState { keep, state, block }
    }

    /// Returns whether copies of the records are kept. Copying continues, or the copies would be incomplete.
    fn has_copies(&self, unit: i64) -> rusqlite::Result<bool> {
        let mut copies = self.index.connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM raw WHERE unit = ?1)")?;
        copies.query_row([unit], |row| row.get(0))
    }

    /// Returns the last block of a log. One with little text is continued; of a full one, only the prompts are counted.
    fn last_block(&self, unit: i64) -> rusqlite::Result<Option<(Option<i64>, TextBlock)>> {
        let mut last = self.index.connection.prepare_cached("SELECT max(block) FROM words WHERE unit = ?1")?;
        let Some(number) = last.query_row([unit], |row| row.get::<_, Option<i64>>(0)).optional()?.flatten() else {
            return Ok(None);
        };
        let mut text = self.index.connection.prepare_cached("SELECT passages FROM text WHERE block = ?1")?;
        let stored = text.query_row([number], |row| row.get::<_, Vec<u8>>(0)).optional()?;
        let Some(block) = stored.and_then(|stored| TextBlock::decode(&stored)) else { return Ok(None) };
        if block.text.len() < FULL_BLOCK_BYTES / 2 {
            return Ok(Some((Some(number), block)));
        }
        Ok(Some((None, TextBlock { prompts: block.prompts_after(), ..TextBlock::default() })))
    }
}
