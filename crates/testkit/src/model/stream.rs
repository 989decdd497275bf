//! Sends an answer at the script's pace and detects clients that disconnect.

use std::{sync::Arc, time::Duration};

use hyper::body::Bytes;
use tokio::{
    sync::{
        Semaphore,
        mpsc::{self, Receiver, Sender},
    },
    time::sleep,
};

use super::{
    api::ReplyFrame,
    body::{ModelResponseBody, ScriptedDisconnect},
};

/// Bytes before a scripted disconnect must be on the wire, because the server drops its buffers.
const FLUSH_DELAY: Duration = Duration::from_millis(50);

/// Sends frames in the background; calls `gone` if the client disconnects before the end.
pub fn send_frames(
    frames: Vec<ReplyFrame>,
    pace: Duration,
    gates: Arc<Semaphore>,
    gone: impl FnOnce() + Send + 'static,
) -> ModelResponseBody {
    let (sender, receiver): (_, Receiver<_>) = mpsc::channel(1);
    tokio::spawn(async move {
        for frame in frames {
            if send_frame(&sender, frame, pace, &gates).await.is_none() {
                return gone();
            }
        }
    });
    ModelResponseBody::Pieces(receiver)
}

pub fn split_in_half(text: &str) -> Vec<ReplyFrame> {
    let middle = text.chars().count() / 2;
    let (first, second): (String, String) = (text.chars().take(middle).collect(), text.chars().skip(middle).collect());
    vec![ReplyFrame::Event(first), ReplyFrame::Event(second)]
}

pub fn cut_in_half(mut frames: Vec<ReplyFrame>) -> Vec<ReplyFrame> {
    frames.truncate(frames.len().div_ceil(2));
    frames.push(ReplyFrame::Cut);
    frames
}

/// Sends one frame; `None` if the client has disconnected.
async fn send_frame(
    to: &Sender<Result<Bytes, ScriptedDisconnect>>,
    frame: ReplyFrame,
    pace: Duration,
    gates: &Semaphore,
) -> Option<()> {
    match frame {
        ReplyFrame::Event(text) => to.send(Ok(Bytes::from(text))).await.ok(),
        ReplyFrame::Chunk(text) => {
            to.send(Ok(Bytes::from(text))).await.ok()?;
            wait_unless_closed(to, sleep(pace)).await
        }
        ReplyFrame::Hold => {
            wait_unless_closed(to, async { gates.acquire().await.map(|gate| gate.forget()).unwrap_or_default() }).await
        }
        ReplyFrame::Cut => {
            wait_unless_closed(to, sleep(FLUSH_DELAY)).await?;
            to.send(Err(ScriptedDisconnect)).await.ok()
        }
    }
}

/// Waits, but not longer than the client stays connected.
async fn wait_unless_closed(
    to: &Sender<Result<Bytes, ScriptedDisconnect>>,
    wait: impl Future<Output = ()>,
) -> Option<()> {
    tokio::select! {
        () = wait => Some(()),
        () = to.closed() => None,
    }
}
