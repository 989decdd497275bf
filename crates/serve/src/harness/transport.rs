//! The outgoing queue of a connection, bounded in bytes, and its WebSocket transport. A client that does not read
//! delays its own messages and nothing else.

use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::sleep,
};

use super::{HarnessConnection, HarnessOptions};
use crate::{
    Service,
    ws::{CloseReason, PING_INTERVAL, SocketReceiver, SocketSink, close_socket, text_message},
};

/// The maximum size of queued messages. A longer message is queued alone.
const MAX_QUEUED_BYTES: usize = 1 << 20;

const MESSAGE_OVERHEAD_BYTES: usize = 256;

const MAX_QUEUED_MESSAGES: usize = MAX_QUEUED_BYTES / MESSAGE_OVERHEAD_BYTES;

/// The sending end of the queue.
#[derive(Clone)]
pub struct Outbox {
    capacity: Arc<Semaphore>,
    queue: mpsc::Sender<OutgoingLine>,
}

/// The receiving end of the queue, for the transport.
pub struct OutgoingLines(mpsc::Receiver<OutgoingLine>);

/// One message without the line end. It counts as queued until it is dropped.
pub struct OutgoingLine {
    pub json: Bytes,
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
pub struct ClientGone;

pub fn outgoing_queue() -> (Outbox, OutgoingLines) {
    let (queue, lines) = mpsc::channel(MAX_QUEUED_MESSAGES);
    (Outbox { capacity: Arc::new(Semaphore::new(MAX_QUEUED_BYTES)), queue }, OutgoingLines(lines))
}

impl Outbox {
    /// Queues a message, once there is capacity.
    pub async fn send(&self, json: impl Into<Bytes>) -> Result<(), ClientGone> {
        let json = json.into();
        let size =
            u32::try_from(json.len().saturating_add(MESSAGE_OVERHEAD_BYTES).min(MAX_QUEUED_BYTES)).unwrap_or(u32::MAX);
        let permit = tokio::select! {
            permit = self.capacity.clone().acquire_many_owned(size) => permit.map_err(|_| ClientGone)?,
            () = self.queue.closed() => return Err(ClientGone),
        };
        self.queue.send(OutgoingLine { json, _permit: permit }).await.map_err(|_| ClientGone)
    }

    /// Waits until the client is gone.
    pub async fn wait_until_closed(&self) {
        self.queue.closed().await;
    }
}

impl OutgoingLines {
    /// Returns the next message; `None` once there will be none.
    pub async fn next(&mut self) -> Option<OutgoingLine> {
        self.0.recv().await
    }

    /// Does the same on a thread that may block.
    pub fn next_blocking(&mut self) -> Option<OutgoingLine> {
        self.0.blocking_recv()
    }

    /// Returns the next message without waiting.
    pub fn try_next(&mut self) -> Option<OutgoingLine> {
        self.0.try_recv().ok()
    }
}

/// Serves a WebSocket until the client or the server closes it. Sessions survive the connection: their open requests
/// are declined after a timeout, and idle sessions end.
pub async fn serve(socket: WebSocket, service: Service, options: HarnessOptions) {
    let drain = service.drain().clone();
    let (connection, mut lines) = HarnessConnection::new(service, options);
    let (mut sink, stream) = socket.split();
    let mut receiver = SocketReceiver::new(stream);
    let reason = tokio::select! {
        () = send_lines(&mut sink, &mut lines) => CloseReason::Gone,
        () = receive_lines(&mut receiver, &connection) => CloseReason::Gone,
        () = drain.wait_until_begun() => CloseReason::Shutdown,
    };
    drop(lines);
    close_socket(sink, receiver, reason).await;
}

/// Sends the outgoing lines until the client is gone.
async fn send_lines(sink: &mut SocketSink, lines: &mut OutgoingLines) {
    loop {
        let sent = tokio::select! {
            line = lines.next() => match line {
                Some(line) => send_batch(sink, line, lines).await,
                None => return,
            },
            () = sleep(PING_INTERVAL) => sink.send(Message::Ping(Bytes::new())).await,
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Sends a line with those that are queued behind it.
async fn send_batch(sink: &mut SocketSink, first: OutgoingLine, lines: &mut OutgoingLines) -> Result<(), axum::Error> {
    let mut next = Some(first);
    while let Some(line) = next {
        sink.feed(text_message(line.json.clone())).await?;
        next = lines.try_next();
    }
    sink.flush().await
}

async fn receive_lines(receiver: &mut SocketReceiver, connection: &HarnessConnection) {
    while let Some(line) = receiver.next().await {
        connection.handle_line(&line).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_client_that_does_not_read_delays_the_sender() {
        let (outbox, mut lines) = outgoing_queue();
        let half = Bytes::from(vec![b'x'; MAX_QUEUED_BYTES / 2]);
        outbox.send(half.clone()).await.unwrap();
        let second = outbox.send(half.clone());
        tokio::pin!(second);
        assert!((&mut second).now_or_never().is_none());
        drop(lines.next().await);
        second.await.unwrap();
        // A message above the capacity is queued alone.
        let long = outbox.send(Bytes::from(vec![b'x'; 3 * MAX_QUEUED_BYTES]));
        tokio::pin!(long);
        assert!((&mut long).now_or_never().is_none());
        drop(lines.next().await);
        long.await.unwrap();
        assert_eq!(lines.next().await.map(|line| line.json.len()), Some(3 * MAX_QUEUED_BYTES));
    }

    #[tokio::test]
    async fn a_client_that_is_gone_delays_nothing() {
        let (outbox, lines) = outgoing_queue();
        outbox.send(vec![b'x'; MAX_QUEUED_BYTES]).await.unwrap();
        let waiting = outbox.send(vec![b'x'; MAX_QUEUED_BYTES]);
        tokio::pin!(waiting);
        assert!((&mut waiting).now_or_never().is_none());
        drop(lines);
        assert!(waiting.await.is_err());
        outbox.wait_until_closed().await;
    }
}
