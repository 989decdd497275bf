//! What all parts of an open log share, and what they do with single frames.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Duration,
};

use async_nats::jetstream::message::StreamMessage;
use parking_lot::Mutex;
use switchboard_store::{CommitWatch, StoreError};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};
use tracing::warn;

use crate::{
    event_stream::{EventStream, Unavailable},
    frame::{Frame, FrameDraft, object_name},
    index::SessionIndex,
    membership::Membership,
    record::{FrameRecord, MAX_INLINE_TEXT_BYTES},
};

/// The time after which a request that a caller waits for fails.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum size of a message besides its headers; the servers accept 1 MB by default.
const MAX_MESSAGE_BYTES: usize = 1_000_000;

/// The interval of attempts while the servers refuse or are away.
pub const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// A node of the cluster: its connection, index and membership.
pub struct ClusterNode {
    pub stream: EventStream,
    pub index: SessionIndex,
    pub membership: Arc<Membership>,
    pub is_closing: AtomicBool,
    /// Makes the feed look for frames at once.
    pub feed_nudge: Notify,
    /// A stream sequence that a caller waits for.
    pub feed_target: AtomicU64,
    watches: Mutex<Vec<SyncSender<()>>>,
}

/// The last frame of a session.
pub struct LastFrame {
    pub sequence: u64,
    pub frame: Frame,
}

/// The outcome of an attempt to append a frame.
pub enum AppendOutcome {
    /// It is in the log, with this sequence.
    Committed(u64),
    /// It is not: another frame was appended before.
    Conflict(Option<Box<LastFrame>>),
}

impl ClusterNode {
    pub fn new(stream: EventStream, index: SessionIndex, membership: Arc<Membership>) -> Self {
        Self {
            stream,
            index,
            membership,
            is_closing: AtomicBool::new(false),
            feed_nudge: Notify::new(),
            feed_target: AtomicU64::new(0),
            watches: Mutex::default(),
        }
    }

    pub fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// Returns the last frame of a session, from the leader. `None` if there never was one.
    pub async fn last_frame(&self, session: &str) -> Result<Option<LastFrame>, StoreError> {
        match self.stream.last_message(&self.stream.subject(session)).await? {
            Some(message) => decode_last(session, &message).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the last frame of a session that exists.
    pub async fn existing_frame(&self, session: &str) -> Result<LastFrame, StoreError> {
        let last = self.last_frame(session).await?.filter(|last| !last.frame.record().deleted);
        let mut last = last.ok_or_else(|| StoreError::NoSession(session.to_owned()))?;
        self.resolve_texts(&mut last.frame.summary.record).await?;
        Ok(last)
    }

    /// Appends a frame after the message `expected` of its session. Retries until it is known whether the frame is in
    /// the log, or until the deadline.
    pub async fn append_frame(
        &self,
        draft: &FrameDraft,
        expected: u64,
        previous: &str,
        deadline: Option<Instant>,
    ) -> Result<(AppendOutcome, String), StoreError> {
        let record = &draft.summary.record;
        let subject = self.stream.subject(&record.id);
        let (headers, payload, hash) = draft.encode(previous)?;
        if payload.len() > MAX_MESSAGE_BYTES {
            let message =
                format!("session {}: a frame of {} bytes is too large for a message", record.id, payload.len());
            return Err(StoreError::Cluster(message));
        }
        let message_id = format!("{}:{}", record.id, draft.summary.nonce);
        loop {
            let sent = self.stream.publish(&subject, headers.clone(), payload.clone(), &message_id, expected).await;
            let failure = match sent {
                Ok(sequence) => return Ok((AppendOutcome::Committed(sequence), hash)),
                Err(failure) => failure,
            };
            // The frame may be in the log nevertheless: the acknowledgment can be lost.
            match self.stream.last_message(&subject).await {
                Ok(Some(message)) if message.sequence != expected => {
                    let last = decode_last(&record.id, &message)?;
                    let outcome = match last.frame.hash == hash {
                        true => AppendOutcome::Committed(last.sequence),
                        false => AppendOutcome::Conflict(Some(Box::new(last))),
                    };
                    return Ok((outcome, hash));
                }
                Ok(None) if expected != 0 => return Ok((AppendOutcome::Conflict(None), hash)),
                Ok(_) | Err(_) => {}
            }
            if self.is_closing() {
                return Err(StoreError::Closed);
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(failure.into());
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Stores the large texts of a record as objects.
    pub async fn store_texts(&self, record: &mut FrameRecord, deadline: Option<Instant>) -> Result<(), StoreError> {
        let session = record.id.clone();
        for text in record.texts_mut() {
            if text.object.is_some() || text.as_str().len() <= MAX_INLINE_TEXT_BYTES {
                continue;
            }
            let name = object_name(&session, text.as_str().as_bytes());
            self.store_object(&name, text.as_str().as_bytes(), deadline).await?;
            text.object = Some(name);
        }
        Ok(())
    }

    /// Stores an object. Retries until the deadline, or until the log is closed.
    pub async fn store_object(&self, name: &str, data: &[u8], deadline: Option<Instant>) -> Result<(), StoreError> {
        loop {
            let Err(failure) = self.stream.put_object(name, data).await else { return Ok(()) };
            if self.is_closing() {
                return Err(StoreError::Closed);
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(failure.into());
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Reads the texts of a record that are objects.
    pub async fn resolve_texts(&self, record: &mut FrameRecord) -> Result<(), Unavailable> {
        let session = record.id.clone();
        for text in record.texts_mut().filter(|text| text.text.is_none()) {
            let Some(name) = &text.object else { continue };
            let data = self.stream.get_object(name).await?.and_then(|data| String::from_utf8(data).ok());
            match data {
                Some(data) => text.text = Some(data.into()),
                None => warn!(%session, object = name, "an object of the log is missing"),
            }
        }
        Ok(())
    }

    /// Waits until the index has all frames up to a stream sequence.
    pub async fn wait_for_index(&self, sequence: u64) -> Result<(), StoreError> {
        self.feed_target.fetch_max(sequence, Ordering::Relaxed);
        self.feed_nudge.notify_one();
        match timeout(OPERATION_TIMEOUT, self.index.wait_for(sequence)).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::Closed),
            Err(_) => Err(Unavailable("the index could not be brought up to date".to_owned()).into()),
        }
    }

    /// Calls a function on its own thread whenever other nodes have committed.
    pub fn watch(&self, notify: Box<dyn Fn() + Send>) -> Option<CommitWatch> {
        let (wake, wakes) = sync_channel(1);
        let guard = WatchGuard { wake: wake.clone(), is_over: Arc::default() };
        let is_over = guard.is_over.clone();
        let thread = thread::Builder::new().name("log-watch".to_owned()).spawn(move || {
            while wakes.recv().is_ok() && !is_over.load(Ordering::Relaxed) {
                notify();
            }
        });
        thread.ok()?;
        self.watches.lock().push(wake);
        Some(CommitWatch::new(guard))
    }

    /// Notifies all watches.
    pub fn notify_watches(&self) {
        self.watches.lock().retain(|watch| !matches!(watch.try_send(()), Err(TrySendError::Disconnected(()))));
    }

    /// Ends all watches.
    pub fn close_watches(&self) {
        self.watches.lock().clear();
    }
}

/// Ends a watch when it is dropped.
struct WatchGuard {
    wake: SyncSender<()>,
    is_over: Arc<AtomicBool>,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A full channel wakes the thread, too.
        self.wake.try_send(()).ok();
    }
}

fn decode_last(session: &str, message: &StreamMessage) -> Result<LastFrame, StoreError> {
    let frame = Frame::decode(&message.headers, &message.payload).map_err(|error| error.into_store_error(session))?;
    Ok(LastFrame { sequence: message.sequence, frame })
}
