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
    feed::{HeldPart, Message, Part, Reader},
};

/// A comment is sent when there was nothing to say for so long: proxies and clients then know that we are there.
const QUIET: Duration = Duration::from_secs(15);

/// How much is handed to the connection at once. A connection whose client reads nothing keeps two or three of them.
const PORTION: usize = 16 << 10;

/// What a message takes besides its JSON.
const OVERHEAD: usize = 40;

/// A session as a stream of server-sent events, until it ends or the server does.
pub fn stream(reader: Reader, drain: Drain, keep: impl Send + 'static) -> Response {
    let source = Source { reader, drain, keep, unsent: None, over: false };
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
    /// Messages that were read and not all handed over yet.
    unsent: Option<Unsent>,
    over: bool,
}

/// What is left of some messages.
struct Unsent {
    held: HeldPart,
    /// How many messages of the session are before the first of them.
    first_offset: u64,
    place: Place,
}

/// How far messages were handed over.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Messages that were handed over whole.
    messages: usize,
    /// Bytes of the next one: a message may be much larger than what is handed over at once.
    bytes: usize,
}

impl<K> Source<K> {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        let mut resumed = Place::default();
        loop {
            if let Some(unsent) = self.unsent.take() {
                let Some(part) = unsent.held.part() else {
                    // The connection did not take it for so long that others needed the memory.
                    let Place { messages, bytes } = unsent.place;
                    self.reader.rewind(unsent.first_offset + messages as u64).await;
                    resumed.bytes = bytes;
                    continue;
                };
                let (bytes, place) = portion(&part, unsent.place);
                self.unsent = (place.messages < part.messages().len()).then_some(Unsent { place, ..unsent });
                return Some(bytes);
            }
            let next = tokio::select! {
                next = timeout(QUIET, self.reader.next()) => next,
                () = self.drain.begun() => return self.close(Drain::REASON),
            };
            match next {
                Err(_) if resumed.bytes == 0 => return Some(Bytes::from_static(b": still here\n\n")),
                // A comment would be taken for a part of the message.
                Err(_) => {}
                Ok(Ok(Some(part))) => {
                    let (first_offset, place) = (part.first_offset(), std::mem::take(&mut resumed));
                    self.unsent = Some(Unsent { held: self.reader.hold(part), first_offset, place });
                }
                Ok(Ok(None)) => return None,
                Ok(Err(error)) => return self.close(&error.to_string()),
            }
        }
    }

    /// Says why the stream ends although the session may go on: an event of another name, which no dialect has.
    fn close(&mut self, why: &str) -> Option<Bytes> {
        self.over = true;
        let reason = serde_json::json!({ "reason": why });
        Some(Bytes::from(format!("event: closed\ndata: {reason}\n\n")))
    }
}

/// The next bytes of some messages, and how far they go.
fn portion(part: &Part, mut place: Place) -> (Bytes, Place) {
    let messages = part.messages().get(place.messages..).unwrap_or_default();
    let total: usize = messages.iter().map(|message| message.json.len() + OVERHEAD).sum();
    // The connection keeps what it can't write, so no more is allocated than what is in it.
    let mut out = BytesMut::with_capacity(total.min(PORTION + OVERHEAD));
    for message in messages {
        if out.len() + OVERHEAD >= PORTION {
            break;
        }
        place.bytes = match write(message, place.bytes, &mut out) {
            Some(written) => written,
            None => {
                place.messages += 1;
                0
            }
        };
    }
    (out.freeze(), place)
}

/// Writes a message from a byte of it on, until it or the portion ends. Returns the byte to go on from.
fn write(message: &Message, from: usize, out: &mut BytesMut) -> Option<usize> {
    if message.is_last && from == 0 {
        out.put_slice(b"id: ");
        out.put_slice(message.seq.to_string().as_bytes());
        out.put_u8(b'\n');
    }
    let json = &message.json;
    let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let (mut at, mut begins_line) = (from, from == 0 || json.get(from - 1).is_some_and(is_line_end));
    loop {
        let room = PORTION.saturating_sub(out.len());
        if room == 0 {
            return Some(at);
        }
        if begins_line {
            out.put_slice(b"data: ");
        }
        let rest = json.get(at..).unwrap_or_default();
        // A native record may have line ends between its parts.
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

    use super::{Message, PORTION, Part, Place, portion};
    use crate::feed::Passage;

    fn written(json: &str) -> (String, usize) {
        let message = |json: &str, seq| Message { json: Bytes::from(json.to_owned()), seq, is_last: true };
        let messages = vec![message(json, 7), message("{}", 8)];
        let part = Part::new(Arc::new(Passage { messages, from: 6, to: 8, count: 8 }), 0);
        let (mut place, mut text, mut portions) = (Place::default(), String::new(), 0);
        while place.messages < 2 {
            let (bytes, next) = portion(&part, place);
            assert!(bytes.len() < PORTION + 100 && !bytes.is_empty());
            text.push_str(std::str::from_utf8(&bytes).unwrap());
            (place, portions) = (next, portions + 1);
        }
        (text, portions)
    }

    #[test]
    fn messages_are_the_same_however_they_are_cut() {
        let long = "x".repeat(3 * PORTION);
        let cases = [
            ("{}".to_owned(), "data: {}\n".to_owned(), 1),
            ("{\n\r}".to_owned(), "data: {\ndata: \ndata: }\n".to_owned(), 1),
            (format!("{long}\n{long}"), format!("data: {long}\ndata: {long}\n"), 7),
            (String::new(), "data: \n".to_owned(), 1),
        ];
        for (json, lines, expected) in cases {
            let (text, portions) = written(&json);
            assert!(text == format!("id: 7\n{lines}\nid: 8\ndata: {{}}\n\n"), "{} bytes", json.len());
            assert_eq!(portions, expected);
        }
    }
}
