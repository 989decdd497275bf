//! Feeds the index with the frames of the stream, in order and without gaps. Committed frames are republished to a live
//! subject; what is missed there is read from the stream.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_nats::{Message, jetstream::message::StreamMessage};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::sleep;
use tracing::{debug, error, warn};

use crate::{
    event_stream::Unavailable,
    frame::{Frame, FrameError},
    index::{IndexChange, StoredFrame},
    node::{ClusterNode, RETRY_INTERVAL},
};

/// The interval for reading the stream while nothing is republished, in case something was missed.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum number and size of the frames to read at once.
const MAX_BATCH_FRAMES: usize = 256;
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Feeds the index until the task is aborted.
pub async fn run_feed(node: Arc<ClusterNode>) {
    let mut feed = Feed { position: node.index.applied(), node };
    loop {
        if let Err(error) = feed.follow().await {
            debug!(error = error.0, "the log cannot be followed");
            sleep(RETRY_INTERVAL).await;
        }
    }
}

struct Feed {
    node: Arc<ClusterNode>,
    /// The stream sequence up to which the index has all frames.
    position: u64,
}

impl Feed {
    /// Reads what there is, then follows the live subject. Returns if the subscription ends.
    async fn follow(&mut self) -> Result<(), Unavailable> {
        let subject = self.node.stream.live_subjects();
        let live = self.node.stream.client.subscribe(subject).await;
        let mut live = live.map_err(|error| Unavailable(error.to_string()))?;
        loop {
            self.catch_up().await?;
            loop {
                tokio::select! {
                    biased;
                    message = live.next() => {
                        let Some(first) = message else { return Ok(()) };
                        let mut messages = vec![first];
                        while messages.len() < MAX_BATCH_FRAMES {
                            let Some(Some(next)) = live.next().now_or_never() else { break };
                            messages.push(next);
                        }
                        if !self.apply_live(messages).await? {
                            break;
                        }
                    }
                    () = self.node.feed_nudge.notified() => break,
                    () = sleep(IDLE_CHECK_INTERVAL) => break,
                }
            }
        }
    }

    /// Applies republished messages. Returns whether they continued the stream without a gap.
    async fn apply_live(&mut self, messages: Vec<Message>) -> Result<bool, Unavailable> {
        let (mut frames, mut position) = (Vec::new(), self.position);
        let mut is_gapless = true;
        for message in messages {
            let headers = message.headers.unwrap_or_default();
            let header = headers.get("Nats-Sequence").and_then(|value| value.as_str().parse::<u64>().ok());
            match header {
                Some(sequence) if sequence <= position => {}
                Some(sequence) if sequence == position + 1 => {
                    position = sequence;
                    frames.extend(decode(sequence, Frame::decode(&headers, &message.payload)));
                }
                Some(_) | None => {
                    is_gapless = false;
                    break;
                }
            }
        }
        self.apply(frames, position).await?;
        Ok(is_gapless)
    }

    /// Reads all frames after the position.
    async fn catch_up(&mut self) -> Result<(), Unavailable> {
        loop {
            let subject = self.node.stream.all_subjects();
            let from = self.position + 1;
            let batch = self.node.stream.read_batch(&subject, from, MAX_BATCH_FRAMES, MAX_BATCH_BYTES).await?;
            let is_over = batch.is_complete;
            if batch.messages.is_empty() {
                if self.position >= self.node.feed_target.load(Ordering::Relaxed) {
                    return Ok(());
                }
                self.read_from_leader().await?;
                continue;
            }
            self.apply_messages(batch.messages).await?;
            if is_over && self.position >= self.node.feed_target.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    /// Reads one frame that the replica of the batches does not have yet.
    async fn read_from_leader(&mut self) -> Result<(), Unavailable> {
        let target = self.node.feed_target.load(Ordering::Relaxed);
        match self.node.stream.next_message(&self.node.stream.all_subjects(), self.position + 1).await? {
            Some(message) => self.apply_messages(vec![message]).await,
            // The frames up to the target were deleted.
            None => self.apply(Vec::new(), target).await,
        }
    }

    async fn apply_messages(&mut self, messages: Vec<StreamMessage>) -> Result<(), Unavailable> {
        let Some(last) = messages.last().map(|message| message.sequence) else { return Ok(()) };
        let frames = messages
            .iter()
            .filter_map(|message| decode(message.sequence, Frame::decode(&message.headers, &message.payload)));
        self.apply(frames.collect(), last).await
    }

    async fn apply(&mut self, mut frames: Vec<StoredFrame>, position: u64) -> Result<(), Unavailable> {
        if position <= self.position {
            return Ok(());
        }
        let own = &self.node.membership.owner().incarnation;
        // Other nodes may archive the sessions of this one.
        let is_foreign =
            frames.iter().any(|stored| stored.frame.record().owner.incarnation != *own || !stored.frame.has_events());
        for stored in &mut frames {
            self.node.resolve_texts(&mut stored.frame.summary.record).await?;
        }
        let applied = self.node.index.apply(IndexChange::Progress(frames, position)).await;
        applied.map_err(|error| Unavailable(error.to_string()))?;
        self.position = position;
        if is_foreign {
            self.node.notify_watches();
        }
        Ok(())
    }
}

/// Returns a frame that can be indexed. Others stay in the log; reading their events reports them as damaged.
fn decode(sequence: u64, frame: Result<Frame, FrameError>) -> Option<StoredFrame> {
    match frame {
        Ok(frame) => Some(StoredFrame { sequence, frame }),
        Err(FrameError::Newer(version)) => {
            warn!(sequence, version, "a frame of the log was written by a later version and is left out");
            None
        }
        Err(FrameError::Damaged(range)) => {
            error!(sequence, ?range, "a frame of the log is damaged");
            None
        }
    }
}
