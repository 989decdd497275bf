//! The memory that all readers of a server take together. A reader that can't send on what it has read loses it when
//! others need the memory, and reads it from the log again once its client takes more.

use std::{collections::BTreeMap, num::NonZero, ops::RangeInclusive, sync::Arc, thread};

use parking_lot::Mutex;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinHandle,
};

use super::Part;

/// What all readers together hold of what they have read and not sent on.
const MAX_HELD_BYTES: usize = 16 << 20;

/// The range of how many pages are read from the log at the same time: one per core within it.
const CONCURRENT_READS: RangeInclusive<usize> = 2..=4;

/// Bounds the memory of all readers.
pub struct ReadBudget {
    reads: Arc<Semaphore>,
    /// The threads that read, as many as there are concurrent reads. Each has a connection to the database and a heap that
    /// the allocator keeps, and the shared pool would start a new one whenever the last is not idle yet. `None` if they
    /// could not be created.
    threads: Option<Runtime>,
    max_bytes: usize,
    held: Mutex<HeldParts>,
}

#[derive(Default)]
struct HeldParts {
    next_id: u64,
    bytes: usize,
    /// In the order in which they were read: a reader whose client keeps up gives its part back soon.
    parts: BTreeMap<u64, (usize, Part)>,
}

/// Messages that a reader is about to send on.
pub struct HeldPart {
    id: u64,
    budget: Arc<ReadBudget>,
}

impl Default for ReadBudget {
    fn default() -> Self {
        Self::new(MAX_HELD_BYTES)
    }
}

impl ReadBudget {
    fn new(max_bytes: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let reads = cores.clamp(*CONCURRENT_READS.start(), *CONCURRENT_READS.end());
        let threads = Builder::new_current_thread().max_blocking_threads(reads).thread_name("log-reader").build().ok();
        Self { reads: Arc::new(Semaphore::new(reads)), threads, max_bytes, held: Mutex::default() }
    }

    /// Reads from the log on a thread where that may take its time.
    pub fn spawn_read<T: Send + 'static>(&self, read: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let Some(threads) = &self.threads else { return tokio::task::spawn_blocking(read) };
        // What it starts, such as following the session of another process, runs where everything else does.
        let server = Handle::current();
        threads.spawn_blocking(move || {
            let _entered = server.enter();
            read()
        })
    }

    /// Waits until the log may be read. May be dropped while it waits.
    pub async fn read_permit(&self) -> Option<OwnedSemaphorePermit> {
        self.reads.clone().acquire_owned().await.ok()
    }

    /// Holds messages for a reader. Those that were held the longest go if there are too many.
    pub fn hold(self: &Arc<Self>, part: Part) -> HeldPart {
        let mut held = self.held.lock();
        let (id, bytes) = (held.next_id, part.bytes());
        held.next_id += 1;
        held.bytes += bytes;
        held.parts.insert(id, (bytes, part));
        while held.bytes > self.max_bytes && held.parts.len() > 1 {
            if let Some((_, (bytes, _))) = held.parts.pop_first() {
                held.bytes -= bytes;
            }
        }
        HeldPart { id, budget: self.clone() }
    }
}

impl Drop for ReadBudget {
    fn drop(&mut self) {
        // A runtime must not wait for its threads inside of another one.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

impl HeldPart {
    /// The messages; nothing if others needed the memory. Keep them only while they are copied.
    pub fn part(&self) -> Option<Part> {
        self.budget.held.lock().parts.get(&self.id).map(|(_, part)| part.clone())
    }
}

impl Drop for HeldPart {
    fn drop(&mut self) {
        let mut held = self.budget.held.lock();
        if let Some((bytes, _)) = held.parts.remove(&self.id) {
            held.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::{
        super::{Message, Passage},
        Part, ReadBudget,
    };

    fn part(bytes: usize) -> Part {
        let message = Message { json: Bytes::from(vec![b'x'; bytes]), seq: 1, is_last: true };
        Part::new(Arc::new(Passage { messages: vec![message], from: 0, to: 1, count: 1 }), 0)
    }

    #[test]
    fn what_was_held_the_longest_goes_first_and_the_newest_stays() {
        let budget = Arc::new(ReadBudget::new(1000));
        let (first, second) = (budget.hold(part(400)), budget.hold(part(400)));
        assert!(first.part().is_some() && second.part().is_some());
        let third = budget.hold(part(400));
        assert!(first.part().is_none() && second.part().is_some() && third.part().is_some());
        let large = budget.hold(part(5000));
        assert!(third.part().is_none() && large.part().is_some(), "a reader always gets one part");
        drop((first, second, third, large));
        assert_eq!(budget.held.lock().bytes, 0);
    }
}
