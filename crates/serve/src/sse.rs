//! Server-sent events: messages of a dialect as a stream that a browser, `curl` or any client can read. The id of a
//! message is the place of its event, on the last message of the event: who returns with it has missed nothing and
//! gets nothing twice.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use tokio::time::timeout;

use crate::{
    Drain,
    feed::{Message, Reader},
};

/// A comment is sent when there was nothing to say for so long: proxies and clients then know that we are there.
const QUIET: Duration = Duration::from_secs(15);

/// About so much is handed to the connection at once.
const PORTION: usize = 64 << 10;

/// A session as a stream of server-sent events, until it ends or the server does.
pub fn stream(reader: Reader, drain: Drain, keep: impl Send + 'static) -> Response {
    let source = Source { reader, drain, keep, rest: Vec::new(), over: false };
    let body = Body::from_stream(stream::unfold(source, |mut source| async move {
        let bytes = source.next().await?;
        Some((Ok::<_, Infallible>(bytes), source))
    }));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that would collect the stream before they pass it on.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Source<K> {
    reader: Reader,
    drain: Drain,
    #[expect(dead_code, reason = "counts the stream as long as it is open")]
    keep: K,
    /// Messages that were read and not handed over yet, the next one last.
    rest: Vec<Message>,
    over: bool,
}

impl<K> Source<K> {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if self.rest.is_empty() {
            let next = tokio::select! {
                next = timeout(QUIET, self.reader.next()) => next,
                () = self.drain.begun() => return self.close(Drain::REASON),
            };
            match next {
                Err(_) => return Some(Bytes::from_static(b": still here\n\n")),
                Ok(Ok(Some(part))) => self.rest.extend(part.messages().iter().rev().cloned()),
                Ok(Ok(None)) => return None,
                Ok(Err(error)) => return self.close(&error.to_string()),
            }
        }
        Some(self.portion())
    }

    fn portion(&mut self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(PORTION + 4096);
        while bytes.len() < PORTION
            && let Some(message) = self.rest.pop()
        {
            write(&message, &mut bytes);
        }
        bytes.freeze()
    }

    /// Says why the stream ends although the session may go on: an event of another name, which no dialect has.
    fn close(&mut self, why: &str) -> Option<Bytes> {
        self.over = true;
        let reason = serde_json::json!({ "reason": why });
        Some(Bytes::from(format!("event: closed\ndata: {reason}\n\n")))
    }
}

fn write(message: &Message, out: &mut BytesMut) {
    if message.is_last {
        out.put_slice(b"id: ");
        out.put_slice(message.seq.to_string().as_bytes());
        out.put_u8(b'\n');
    }
    // A native record may have line ends between its parts.
    for line in message.json.split(|byte| matches!(byte, b'\n' | b'\r')) {
        out.put_slice(b"data: ");
        out.put_slice(line);
        out.put_u8(b'\n');
    }
    out.put_u8(b'\n');
}
