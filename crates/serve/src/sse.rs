//! Server-sent events. The stream of a session has a message per event; its ID is the `seq` of the session event, on
//! the last message of that event: a client that reconnects with it misses nothing and gets nothing twice.

use std::{convert::Infallible, fmt::Display, time::Duration};

use axum::{
    body::Body,
    http::{HeaderName, header},
    response::{IntoResponse as _, Response},
};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use tokio::time::timeout;

use crate::{
    Drain,
    feed::{FeedMessage, HeldMessages, MessageSlice, SessionReader},
};

/// The time without messages after which a comment shows clients and proxies that the connection is alive.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The maximum bytes passed to the connection at once. A connection whose client does not read keeps two or three
/// chunks.
const MAX_CHUNK_BYTES: usize = 16 << 10;

/// The maximum bytes of a message besides its JSON.
const MESSAGE_OVERHEAD_BYTES: usize = 40;

/// A part of a stream of server-sent events.
pub enum SseChunk {
    /// Events, or a part of one.
    Events(Bytes),
    /// A comment.
    KeepAlive,
    /// The last event, with the reason why the stream ends although its subject may continue. No dialect has an event
    /// of that name.
    Closed(String),
}

/// The chunks of a stream of server-sent events.
pub trait SseSource: Send + 'static {
    /// Returns the next chunk; `None` at the end.
    fn next_chunk(&mut self) -> impl Future<Output = Option<SseChunk>> + Send;
}

/// Responds with a stream of server-sent events.
pub fn respond(source: impl SseSource) -> Response {
    let chunks = stream::unfold(Some(source), |source| async move {
        let mut source = source?;
        let (bytes, rest) = match source.next_chunk().await? {
            SseChunk::Events(bytes) => (bytes, Some(source)),
            SseChunk::KeepAlive => (Bytes::from_static(b": still here\n\n"), Some(source)),
            SseChunk::Closed(reason) => {
                let reason = serde_json::json!({ "reason": reason });
                (Bytes::from(format!("event: closed\ndata: {reason}\n\n")), None)
            }
        };
        Some((Ok::<_, Infallible>(bytes), rest))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Keeps proxies from buffering the stream.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(chunks)).into_response()
}

/// Writes messages without line breaks as one event each. The last one has the ID: a client with it has all before it.
pub fn write_events(messages: &[String], id: impl Display) -> Bytes {
    let (mut out, last) = (String::new(), messages.len().saturating_sub(1));
    for (index, message) in messages.iter().enumerate() {
        if index == last {
            out.push_str(&format!("id: {id}\n"));
        }
        out.push_str(&format!("data: {message}\n\n"));
    }
    out.into()
}

/// Waits for the next part of a stream; fails with the chunk to send if it takes too long or the server shuts down.
pub async fn wait_for<T>(drain: &Drain, next: impl Future<Output = T>) -> Result<T, SseChunk> {
    tokio::select! {
        next = timeout(KEEP_ALIVE_INTERVAL, next) => next.map_err(|_| SseChunk::KeepAlive),
        () = drain.wait_until_begun() => Err(SseChunk::Closed(Drain::REASON.to_owned())),
    }
}

/// Streams the messages of a session until it ends or the server shuts down. `keep` is dropped with the stream.
pub fn stream_messages(reader: SessionReader, drain: Drain, keep: impl Send + 'static) -> Response {
    respond(MessageStream { reader, drain, keep, unsent: None })
}

struct MessageStream<K> {
    reader: SessionReader,
    drain: Drain,
    #[expect(dead_code, reason = "dropped with the stream")]
    keep: K,
    /// Messages that were read and not completely sent.
    unsent: Option<UnsentMessages>,
}

struct UnsentMessages {
    held: HeldMessages,
    /// The number of messages of the session before the first of them.
    first_offset: u64,
    sent: SentCount,
}

/// How much of the messages was sent.
#[derive(Clone, Copy, Default)]
struct SentCount {
    /// Messages that were sent completely.
    messages: usize,
    /// Bytes of the next one, which may be much larger than a chunk.
    bytes: usize,
}

impl<K: Send + 'static> SseSource for MessageStream<K> {
    async fn next_chunk(&mut self) -> Option<SseChunk> {
        let mut resumed = SentCount::default();
        loop {
            if let Some(unsent) = self.unsent.take() {
                let Some(slice) = unsent.held.messages() else {
                    // The connection was blocked for so long that others needed the memory.
                    let SentCount { messages, bytes } = unsent.sent;
                    self.reader.rewind(unsent.first_offset + messages as u64).await;
                    resumed.bytes = bytes;
                    continue;
                };
                let (bytes, sent) = next_chunk(&slice, unsent.sent);
                self.unsent = (sent.messages < slice.messages().len()).then_some(UnsentMessages { sent, ..unsent });
                return Some(SseChunk::Events(bytes));
            }
            match wait_for(&self.drain, self.reader.next()).await {
                // A comment would become a part of the message.
                Err(SseChunk::KeepAlive) if resumed.bytes > 0 => {}
                Err(chunk) => return Some(chunk),
                Ok(Ok(Some(slice))) => {
                    let (first_offset, sent) = (slice.first_offset(), std::mem::take(&mut resumed));
                    self.unsent = Some(UnsentMessages { held: self.reader.hold(slice), first_offset, sent });
                }
                Ok(Ok(None)) => return None,
                Ok(Err(error)) => return Some(SseChunk::Closed(error.to_string())),
            }
        }
    }
}

/// Returns the next bytes, and how much of the messages is sent with them.
fn next_chunk(slice: &MessageSlice, mut sent: SentCount) -> (Bytes, SentCount) {
    let messages = slice.messages().get(sent.messages..).unwrap_or_default();
    let total: usize = messages.iter().map(|message| message.json.len() + MESSAGE_OVERHEAD_BYTES).sum();
    // The connection keeps the buffer until it is written, so it must not be larger than its content.
    let mut out = BytesMut::with_capacity(total.min(MAX_CHUNK_BYTES + MESSAGE_OVERHEAD_BYTES));
    for message in messages {
        if out.len() + MESSAGE_OVERHEAD_BYTES >= MAX_CHUNK_BYTES {
            break;
        }
        sent.bytes = match write_message(message, sent.bytes, &mut out) {
            Some(written) => written,
            None => {
                sent.messages += 1;
                0
            }
        };
    }
    (out.freeze(), sent)
}

/// Writes a message from a byte on, until the message or the chunk ends. Returns the byte to continue from.
fn write_message(message: &FeedMessage, from: usize, out: &mut BytesMut) -> Option<usize> {
    if message.is_last && from == 0 {
        out.put_slice(b"id: ");
        out.put_slice(message.seq.to_string().as_bytes());
        out.put_u8(b'\n');
    }
    let json = &message.json;
    let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let (mut at, mut begins_line) = (from, from == 0 || json.get(from - 1).is_some_and(is_line_end));
    loop {
        let room = MAX_CHUNK_BYTES.saturating_sub(out.len());
        if room == 0 {
            return Some(at);
        }
        if begins_line {
            out.put_slice(b"data: ");
        }
        let rest = json.get(at..).unwrap_or_default();
        // A native record may contain line breaks between its tokens.
        let line = rest.iter().take(room).position(is_line_end).unwrap_or(rest.len());
        let piece = rest.get(..line.min(room)).unwrap_or(rest);
        out.put_slice(piece);
        at += piece.len();
        if piece.len() < line {
            return Some(at);
        }
        out.put_u8(b'\n');
        if at >= json.len() {
            out.put_u8(b'\n');
            return None;
        }
        (at, begins_line) = (at + 1, true);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::{FeedMessage, MAX_CHUNK_BYTES, MessageSlice, SentCount, next_chunk};
    use crate::feed::MessageBatch;

    fn written(json: &str) -> (String, usize) {
        let message = |json: &str, seq| FeedMessage { json: Bytes::from(json.to_owned()), seq, is_last: true };
        let messages = vec![message(json, 7), message("{}", 8)];
        let slice = MessageSlice::new(Arc::new(MessageBatch { messages, from: 6, to: 8, count: 8 }), 0);
        let (mut sent, mut text, mut chunks) = (SentCount::default(), String::new(), 0);
        while sent.messages < 2 {
            let (bytes, next) = next_chunk(&slice, sent);
            assert!(bytes.len() < MAX_CHUNK_BYTES + 100 && !bytes.is_empty());
            text.push_str(std::str::from_utf8(&bytes).unwrap());
            (sent, chunks) = (next, chunks + 1);
        }
        (text, chunks)
    }

    #[test]
    fn messages_are_the_same_however_they_are_split() {
        let long = "x".repeat(3 * MAX_CHUNK_BYTES);
        let cases = [
            ("{}".to_owned(), "data: {}\n".to_owned(), 1),
            ("{\n\r}".to_owned(), "data: {\ndata: \ndata: }\n".to_owned(), 1),
            (format!("{long}\n{long}"), format!("data: {long}\ndata: {long}\n"), 7),
            (String::new(), "data: \n".to_owned(), 1),
        ];
        for (json, lines, expected) in cases {
            let (text, chunks) = written(&json);
            assert!(text == format!("id: 7\n{lines}\nid: 8\ndata: {{}}\n\n"), "{} bytes", json.len());
            assert_eq!(chunks, expected);
        }
    }
}
