//! Batches of events, without loss.

use std::{sync::Arc, time::Duration};

use futures_util::stream::{BoxStream, Stream, StreamExt as _, unfold};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
    time::{Instant, timeout_at},
};

/// Reads a stream ahead of its consumer and returns the items in batches.
///
/// A full buffer stops reading until items are taken out. Nothing is dropped: a sender that is too fast waits, and a
/// server keeps unsent events in its log.
#[derive(Clone, Copy, Debug)]
pub struct EventBuffer {
    /// The maximum number of buffered items.
    pub max_size: usize,
    /// The time that the first item of a batch waits for others. A full batch does not wait.
    pub flush_interval: Duration,
}

impl Default for EventBuffer {
    fn default() -> Self {
        Self { max_size: 1024, flush_interval: Duration::from_millis(50) }
    }
}

impl EventBuffer {
    /// Returns the same items, each as soon as its batch is complete. Must be called within a tokio runtime.
    pub fn buffer<T: Send + 'static>(&self, source: impl Stream<Item = T> + Send + 'static) -> BoxStream<'static, T> {
        self.batches(source).flat_map(futures_util::stream::iter).boxed()
    }

    /// Returns the same items in batches, none empty and none larger than the buffer. Must be called within a tokio
    /// runtime.
    pub fn batches<T: Send + 'static>(
        &self,
        source: impl Stream<Item = T> + Send + 'static,
    ) -> BoxStream<'static, Vec<T>> {
        let room = Arc::new(Semaphore::new(self.max_size.max(1)));
        let (items, held) = mpsc::unbounded_channel();
        let mut task = JoinSet::new();
        task.spawn(fill_buffer(source, room, items));
        let batches =
            BatchStream { held, max_size: self.max_size.max(1), flush_interval: self.flush_interval, _task: task };
        unfold(batches, |mut batches| async move { Some((batches.next().await?, batches)) }).boxed()
    }
}

/// An item and the permit that it holds until it is returned.
type BufferedItem<T> = (T, OwnedSemaphorePermit);

/// Fills the buffer. The permit is acquired before reading, so that an item always fits.
async fn fill_buffer<T>(
    source: impl Stream<Item = T>,
    room: Arc<Semaphore>,
    items: mpsc::UnboundedSender<BufferedItem<T>>,
) {
    let mut source = std::pin::pin!(source);
    while let Ok(place) = room.clone().acquire_owned().await {
        let Some(item) = source.next().await else { return };
        if items.send((item, place)).is_err() {
            return;
        }
    }
}

struct BatchStream<T> {
    held: mpsc::UnboundedReceiver<BufferedItem<T>>,
    max_size: usize,
    flush_interval: Duration,
    /// The reading task, aborted on drop.
    _task: JoinSet<()>,
}

impl<T> BatchStream<T> {
    async fn next(&mut self) -> Option<Vec<T>> {
        let mut batch = vec![self.held.recv().await?];
        let flush = Instant::now() + self.flush_interval;
        while batch.len() < self.max_size
            && let Ok(Some(held)) = timeout_at(flush, self.held.recv()).await
        {
            batch.push(held);
        }
        Some(batch.into_iter().map(|(item, _)| item).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use futures_util::stream::{StreamExt as _, iter, pending};

    use super::EventBuffer;

    const ONE_HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn nothing_is_lost_and_nothing_is_reordered() {
        for max_size in [0, 1, 7, 1000] {
            let buffer = EventBuffer { max_size, flush_interval: Duration::from_millis(1) };
            let batches: Vec<Vec<u32>> = buffer.batches(iter(0..100)).collect().await;
            assert!(batches.iter().all(|batch| !batch.is_empty() && batch.len() <= max_size.max(1)), "{batches:?}");
            assert_eq!(batches.concat(), (0..100).collect::<Vec<_>>());
            assert_eq!(buffer.buffer(iter(0..100)).count().await, 100);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_buffer_stops_the_source() {
        let read = Arc::new(AtomicUsize::new(0));
        let count = read.clone();
        let source = iter(0..100).inspect(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let mut batches = EventBuffer { max_size: 5, flush_interval: ONE_HOUR }.batches(source);
        // The paused clock only advances once all tasks are idle.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(read.load(Ordering::SeqCst), 5);
        assert_eq!(batches.next().await, Some(vec![0, 1, 2, 3, 4]));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(read.load(Ordering::SeqCst), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_there_is_given_after_the_interval() {
        let buffer = EventBuffer { max_size: 100, flush_interval: Duration::from_millis(200) };
        let mut batches = buffer.batches(iter(0..3).chain(pending()));
        let begin = tokio::time::Instant::now();
        assert_eq!(batches.next().await, Some(vec![0, 1, 2]));
        assert_eq!(begin.elapsed(), Duration::from_millis(200));
    }
}
