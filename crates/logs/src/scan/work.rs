//! Doing what is planned: several threads read, one writes.

use std::{
    collections::{HashSet, VecDeque},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use rusqlite::OptionalExtension as _;
use switchboard_agents::Depth;

use super::{
    Task,
    reading::{Begin, Reading, Way},
};
use crate::{
    LogsError, Progress,
    index::{
        Index,
        block::{Block, FULL},
        portion::Portion,
        press::Press,
        units,
    },
    read,
};

/// The most threads that read.
const MOST_THREADS: usize = 8;

/// How many portions may wait to be written.
const WAITING: usize = 4;

/// How many logs are fetched from the disk before their turn.
const AHEAD: usize = 8;

/// How many bytes are written in one transaction.
const TRANSACTION: usize = 16 << 20;

/// How long portions are waited for that are written together: each transaction writes whole pages.
const GATHERING: Duration = Duration::from_millis(100);

/// What the work came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Logs that were read.
    pub read: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Logs of which somebody else wrote something first.
    pub lost: usize,
}

/// Reads all of them.
pub fn run(
    index: &mut Index,
    tasks: Vec<Task>,
    way: &Way,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Work, LogsError> {
    let of_bytes = tasks.iter().map(|task| task.bytes(way.depth)).sum();
    let mut told = Progress { of_bytes, of_files: tasks.len() as u64, ..Progress::default() };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(tasks.len());
    let queue = Mutex::new(VecDeque::from(tasks));
    let lost = Mutex::new(HashSet::new());
    let (sender, receiver) = sync_channel(WAITING);
    thread::scope(|scope| {
        for _ in 0..threads {
            let reader = Reader { queue: &queue, lost: &lost, index: index.again()?, way, sender: sender.clone() };
            scope.spawn(move || reader.run());
        }
        drop(sender);
        let written = write(index, &receiver, &lost, &mut told, progress);
        // If that failed, nobody need read on.
        drop(receiver);
        written
    })?;
    let lost = lost.into_inner().unwrap_or_else(PoisonError::into_inner).len();
    Ok(Work { read: told.files, bytes: told.bytes, lost })
}

fn write(
    index: &mut Index,
    receiver: &Receiver<Portion>,
    lost: &Mutex<HashSet<i64>>,
    told: &mut Progress,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(), LogsError> {
    while let Ok(first) = receiver.recv() {
        let (mut size, until) = (weight(&first), Instant::now() + GATHERING);
        let mut portions = vec![first];
        while size < TRANSACTION
            && let Ok(next) = receiver.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            size += weight(&next);
            portions.push(next);
        }
        let written = index.write(&portions).map_err(|error| index.error(error))?;
        for (portion, written) in portions.iter().zip(written) {
            told.bytes += portion.read;
            told.files += u64::from(portion.end.is_some() && written);
            if !written {
                lost.lock().unwrap_or_else(PoisonError::into_inner).insert(portion.unit);
            }
        }
        progress(*told);
    }
    Ok(())
}

fn weight(portion: &Portion) -> usize {
    let blocks: usize = portion.blocks.iter().map(|block| block.text.len() + block.filter.len()).sum();
    blocks + portion.spent.len() + portion.raw.as_ref().map_or(0, |(_, raw)| raw.len())
}

/// One thread that reads.
struct Reader<'a> {
    queue: &'a Mutex<VecDeque<Task>>,
    /// Logs that somebody else has read meanwhile.
    lost: &'a Mutex<HashSet<i64>>,
    index: Index,
    way: &'a Way,
    sender: SyncSender<Portion>,
}

impl Reader<'_> {
    fn run(&self) {
        let mut press = Press::default();
        while let Some(task) = self.next() {
            let unit = task.unit;
            let mut send = |portion| {
                let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).contains(&unit);
                !lost && self.sender.send(portion).is_ok()
            };
            if let Some(reading) = Reading::new(&task, self.begin(&task), self.way, &mut press, &mut send) {
                reading.run();
            }
        }
    }

    /// The next log. One that comes later is fetched from the disk meanwhile; the first ones come too soon for that.
    fn next(&self) -> Option<Task> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let next = queue.pop_front();
        let later = queue.get(AHEAD).filter(|task| task.seen.part.is_none());
        let later = later.map(|task| (task.seen.path.clone(), task.seen.bytes - task.bytes(self.way.depth)));
        drop(queue);
        if let Some((path, from)) = later {
            read::fetch(&path, from);
        }
        next
    }

    /// What was left of the log. What cannot be had is read anew: its state, never its text.
    fn begin(&self, task: &Task) -> Begin {
        let keep = self.has_copies(task.unit).unwrap_or(false);
        if task.fresh {
            return Begin { keep, state: None, block: None };
        }
        let state = units::state(&self.index.connection, task.unit, self.way.depth).ok().flatten();
        let block = if self.way.depth == Depth::All { self.last_block(task.unit).ok().flatten() } else { None };
        Begin { keep, state, block }
    }

    /// Copies of its records were kept once: they are kept on, or they would end in the middle.
    fn has_copies(&self, unit: i64) -> rusqlite::Result<bool> {
        let mut copies = self.index.connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM raw WHERE unit = ?1)")?;
        copies.query_row([unit], |row| row.get(0))
    }

    /// The last block of a log. One with little text is filled up; of a full one, only the prompts are counted.
    fn last_block(&self, unit: i64) -> rusqlite::Result<Option<(Option<i64>, Block)>> {
        let mut last = self.index.connection.prepare_cached("SELECT max(block) FROM words WHERE unit = ?1")?;
        let Some(number) = last.query_row([unit], |row| row.get::<_, Option<i64>>(0)).optional()?.flatten() else {
            return Ok(None);
        };
        let mut text = self.index.connection.prepare_cached("SELECT passages FROM text WHERE block = ?1")?;
        let stored = text.query_row([number], |row| row.get::<_, Vec<u8>>(0)).optional()?;
        let Some(block) = stored.and_then(|stored| Block::read(&stored)) else { return Ok(None) };
        if block.text.len() < FULL / 2 {
            return Ok(Some((Some(number), block)));
        }
        Ok(Some((None, Block { prompts: block.prompts_after(), ..Block::default() })))
    }
}
