//! The memory budget of all readers of a server. A reader that cannot pass on its messages loses them when others need
//! the memory, and reads them from the log again later.

use std::{collections::BTreeMap, num::NonZero, ops::RangeInclusive, sync::Arc, thread};

use parking_lot::Mutex;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinHandle,
};

use super::MessageSlice;

/// The maximum size of all messages that were read and not passed on.
const MAX_HELD_BYTES: usize = 16 << 20;

/// The range of concurrent reads of the log: one per core within it.
const CONCURRENT_READS: RangeInclusive<usize> = 2..=4;

pub struct ReadBudget {
    reads: Arc<Semaphore>,
    /// The threads for reads, as many as there are concurrent reads: each has a connection to the database and a heap,
    /// and the shared pool would start another thread whenever the last is still busy. `None` if they could not be
    /// created.
    threads: Option<Runtime>,
    max_bytes: usize,
    held: Mutex<HeldSlices>,
}

#[derive(Default)]
struct HeldSlices {
    next_id: u64,
    bytes: usize,
    /// In the order in which they were read, so that the oldest go first.
    slices: BTreeMap<u64, (usize, MessageSlice)>,
}

/// Messages that a reader is about to pass on.
pub struct HeldMessages {
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

    /// Reads from the log on a thread that may block.
    pub fn spawn_read<T: Send + 'static>(&self, read: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let Some(threads) = &self.threads else { return tokio::task::spawn_blocking(read) };
        // Tasks that it starts, such as following a session of another process, belong to the server's runtime.
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

    /// Holds messages for a reader, and drops the oldest ones of others over the budget.
    pub fn hold(self: &Arc<Self>, slice: MessageSlice) -> HeldMessages {
        let mut held = self.held.lock();
        let (id, bytes) = (held.next_id, slice.bytes());
        held.next_id += 1;
        held.bytes += bytes;
        held.slices.insert(id, (bytes, slice));
        while held.bytes > self.max_bytes && held.slices.len() > 1 {
            if let Some((_, (bytes, _))) = held.slices.pop_first() {
                held.bytes -= bytes;
            }
        }
        HeldMessages { id, budget: self.clone() }
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

impl HeldMessages {
    /// Returns the messages, or `None` if they were dropped. They must only be kept while they are copied.
    pub fn messages(&self) -> Option<MessageSlice> {
        self.budget.held.lock().slices.get(&self.id).map(|(_, slice)| slice.clone())
    }
}

impl Drop for HeldMessages {
    fn drop(&mut self) {
        let mut held = self.budget.held.lock();
        if let Some((bytes, _)) = held.slices.remove(&self.id) {
            held.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::{MessageSlice, ReadBudget};
    use crate::feed::{FeedMessage, MessageBatch};

    fn slice(bytes: usize) -> MessageSlice {
        let message = FeedMessage { json: Bytes::from(vec![b'x'; bytes]), seq: 1, is_last: true };
        MessageSlice::new(Arc::new(MessageBatch { messages: vec![message], from: 0, to: 1, count: 1 }), 0)
    }

    #[test]
    fn the_oldest_messages_are_dropped_first_and_the_newest_stay() {
        let budget = Arc::new(ReadBudget::new(1000));
        let (first, second) = (budget.hold(slice(400)), budget.hold(slice(400)));
        assert!(first.messages().is_some() && second.messages().is_some());
        let third = budget.hold(slice(400));
        assert!(first.messages().is_none() && second.messages().is_some() && third.messages().is_some());
        let large = budget.hold(slice(5000));
        assert!(third.messages().is_none() && large.messages().is_some(), "a reader always gets one slice");
        drop((first, second, third, large));
        assert_eq!(budget.held.lock().bytes, 0);
    }
}
