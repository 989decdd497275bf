//! What goes out to a client: a queue that is bounded in bytes. Whoever has something to say waits for room, so a client
//! that does not read holds up what is told to it, and nothing else.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// So many bytes may wait for a client that does not read. A longer message waits alone.
const ROOM: usize = 1 << 20;

/// What a message costs beside its text.
const SHELL: usize = 256;

/// So many messages may wait, too.
const MESSAGES: usize = ROOM / SHELL;

/// What goes out, for those who say it.
#[derive(Clone)]
pub struct Outbox {
    room: Arc<Semaphore>,
    queue: mpsc::Sender<Line>,
}

/// What goes out, for the wire.
pub struct Lines(mpsc::Receiver<Line>);

/// One message, without the end of the line. It takes its room until it is dropped.
pub struct Line {
    /// The message, as JSON.
    pub json: Bytes,
    _room: OwnedSemaphorePermit,
}

/// The client is gone.
#[derive(Debug)]
pub struct Gone;

/// A queue and its two ends.
pub fn outbox() -> (Outbox, Lines) {
    let (queue, lines) = mpsc::channel(MESSAGES);
    (Outbox { room: Arc::new(Semaphore::new(ROOM)), queue }, Lines(lines))
}

impl Outbox {
    /// Says something, once there is room for it.
    pub async fn say(&self, json: impl Into<Bytes>) -> Result<(), Gone> {
        let json = json.into();
        let size = u32::try_from(json.len().saturating_add(SHELL).min(ROOM)).unwrap_or(u32::MAX);
        let room = tokio::select! {
            room = self.room.clone().acquire_many_owned(size) => room.map_err(|_| Gone)?,
            () = self.queue.closed() => return Err(Gone),
        };
        self.queue.send(Line { json, _room: room }).await.map_err(|_| Gone)
    }

    /// Waits until the client is gone.
    pub async fn gone(&self) {
        self.queue.closed().await;
    }
}

impl Lines {
    /// The next message; nothing once there will be none.
    pub async fn next(&mut self) -> Option<Line> {
        self.0.recv().await
    }

    /// The same on a thread that may wait.
    pub fn next_blocking(&mut self) -> Option<Line> {
        self.0.blocking_recv()
    }

    /// The next message, if there is one now.
    pub fn ready(&mut self) -> Option<Line> {
        self.0.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn who_does_not_read_makes_us_wait() {
        let (outbox, mut lines) = outbox();
        let half = Bytes::from(vec![b'x'; ROOM / 2]);
        outbox.say(half.clone()).await.unwrap();
        let second = outbox.say(half.clone());
        tokio::pin!(second);
        assert!((&mut second).now_or_never().is_none());
        drop(lines.next().await);
        second.await.unwrap();
        // One that is longer than all room is alone.
        let long = outbox.say(Bytes::from(vec![b'x'; 3 * ROOM]));
        tokio::pin!(long);
        assert!((&mut long).now_or_never().is_none());
        drop(lines.next().await);
        long.await.unwrap();
        assert_eq!(lines.next().await.map(|line| line.json.len()), Some(3 * ROOM));
    }

    #[tokio::test]
    async fn who_is_gone_makes_nobody_wait() {
        let (outbox, lines) = outbox();
        outbox.say(vec![b'x'; ROOM]).await.unwrap();
        let waiting = outbox.say(vec![b'x'; ROOM]);
        tokio::pin!(waiting);
        assert!((&mut waiting).now_or_never().is_none());
        drop(lines);
        assert!(waiting.await.is_err());
        outbox.gone().await;
    }
}
