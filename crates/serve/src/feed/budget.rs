//! The memory that all readers of a server take together. A reader that can't send on what it has read loses it when
//! others need the memory, and reads it from the log again once its client takes more.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Part;

/// What all readers together hold of what they have read and not sent on.
const MAX_HELD_BYTES: usize = 16 << 20;

/// How many pages are read from the log at the same time. Each takes a thread and a connection to the database, whose
/// memory the allocator keeps.
const MAX_CONCURRENT_READS: usize = 4;

/// Bounds the memory of all readers.
pub struct ReadBudget {
    reads: Arc<Semaphore>,
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
        Self { reads: Arc::new(Semaphore::new(MAX_CONCURRENT_READS)), max_bytes, held: Mutex::default() }
    }

    /// Waits until the log may be read. May be dropped while it waits.
    pub async fn read_permit(&self) -> Option<OwnedSemaphorePermit> {
        self.reads.clone().acquire_owned().await.ok()
    }

    /// Holds messages for a reader. Those that were held the longest go if there are too many.
    pub fn hold(self: &Arc<Self>, part: Part) -> HeldPart {
        let mut held = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, HeldParts> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldPart {
    /// The messages; nothing if others needed the memory. Keep them only while they are copied.
    pub fn part(&self) -> Option<Part> {
        self.budget.lock().parts.get(&self.id).map(|(_, part)| part.clone())
    }
}

impl Drop for HeldPart {
    fn drop(&mut self) {
        let mut held = self.budget.lock();
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
        assert_eq!(budget.lock().bytes, 0);
    }
}
