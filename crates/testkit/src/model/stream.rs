//! Sending an answer at the pace that the script asks for, and seeing whether the client stays to the end.

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
    api::Frame,
    body::{BrokenOff, Sent},
};

/// What was sent before a connection breaks off must be on the wire: the server drops what it still holds back.
const BEFORE_A_CUT: Duration = Duration::from_millis(50);

/// Begins to send; `gone` is called if the client leaves before the end.
pub fn send(frames: Vec<Frame>, pace: Duration, gates: Arc<Semaphore>, gone: impl FnOnce() + Send + 'static) -> Sent {
    let (sender, receiver): (_, Receiver<_>) = mpsc::channel(1);
    tokio::spawn(async move {
        for frame in frames {
            if one(&sender, frame, pace, &gates).await.is_none() {
                return gone();
            }
        }
    });
    Sent::Pieces(receiver)
}

/// An answer in one piece, as two.
pub fn halves(text: &str) -> Vec<Frame> {
    let middle = text.chars().count() / 2;
    let (first, second): (String, String) = (text.chars().take(middle).collect(), text.chars().skip(middle).collect());
    vec![Frame::Event(first), Frame::Event(second)]
}

/// The answer as far as it gets when it is cut: half of it.
pub fn cut(mut frames: Vec<Frame>) -> Vec<Frame> {
    frames.truncate(frames.len().div_ceil(2));
    frames.push(Frame::Cut);
    frames
}

/// Sends one piece; nothing if nobody is there any more.
async fn one(to: &Sender<Result<Bytes, BrokenOff>>, frame: Frame, pace: Duration, gates: &Semaphore) -> Option<()> {
    match frame {
        Frame::Event(text) => to.send(Ok(Bytes::from(text))).await.ok(),
        Frame::Chunk(text) => {
            to.send(Ok(Bytes::from(text))).await.ok()?;
            unless_gone(to, sleep(pace)).await
        }
        Frame::Hold => {
            unless_gone(to, async { gates.acquire().await.map(|gate| gate.forget()).unwrap_or_default() }).await
        }
        Frame::Cut => {
            unless_gone(to, sleep(BEFORE_A_CUT)).await?;
            to.send(Err(BrokenOff)).await.ok()
        }
    }
}

/// Waits, but not longer than the client does.
async fn unless_gone(to: &Sender<Result<Bytes, BrokenOff>>, wait: impl Future<Output = ()>) -> Option<()> {
    tokio::select! {
        () = wait => Some(()),
        () = to.closed() => None,
    }
}
