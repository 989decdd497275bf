//! The position of a reader: by the `seq` of events, or by the number of messages. Each knows how to request what
//! follows it and how to recognize messages that were seen before.

use serde::Deserialize;
use switchboard_dialects::DIALECTS;
use switchboard_event::Event;

/// The position of a reader in a session.
pub trait FeedCursor: Send + 'static {
    /// The type of a message.
    type Item: Send;
    /// Returns the query of a WebSocket that continues from here. Called once for each connection.
    fn socket_query(&mut self) -> String;
    /// Returns the query of the next page.
    fn page_query(&self) -> String;
    /// Accepts a message of a WebSocket; `None` if it was seen before.
    fn take_message(&mut self, text: &str) -> Result<Option<Self::Item>, FeedError>;
    /// Accepts a message of a page.
    fn take_page_message(&mut self, text: &str) -> Result<Option<Self::Item>, FeedError>;
}

/// A message that cannot be accepted.
#[derive(Debug, PartialEq, Eq)]
pub enum FeedError {
    /// Messages between it and the last one are missing.
    Gap(String),
    /// It is malformed.
    Malformed(String),
}

/// The maximum number of messages of a page.
const MAX_PAGE_MESSAGES: usize = 500;

/// The long-polling timeout of a page.
const PAGE_WAIT_SECONDS: u32 = 20;

/// The position of a reader of events.
pub struct SeqCursor {
    last: u64,
}

impl SeqCursor {
    pub fn new(after: u64) -> Self {
        Self { last: after }
    }
}

/// Returns the dialect whose messages are the events themselves.
fn verbatim_dialect() -> &'static str {
    DIALECTS.iter().find(|dialect| dialect.verbatim).map_or("", |dialect| dialect.name)
}

impl FeedCursor for SeqCursor {
    type Item = Event;

    fn socket_query(&mut self) -> String {
        format!("?dialect={}&after={}", verbatim_dialect(), self.last)
    }

    fn page_query(&self) -> String {
        format!(
            "?dialect={}&after={}&limit={MAX_PAGE_MESSAGES}&wait={PAGE_WAIT_SECONDS}",
            verbatim_dialect(),
            self.last
        )
    }

    fn take_message(&mut self, text: &str) -> Result<Option<Event>, FeedError> {
        let event = Event::from_json(text).map_err(|error| FeedError::Malformed(error.to_string()))?;
        if event.seq <= self.last {
            return Ok(None);
        }
        if event.seq != self.last + 1 {
            return Err(FeedError::Gap(format!("event {} came after event {}", event.seq, self.last)));
        }
        self.last = event.seq;
        Ok(Some(event))
    }

    fn take_page_message(&mut self, text: &str) -> Result<Option<Event>, FeedError> {
        self.take_message(text)
    }
}

/// The position of a reader of messages without numbers.
pub struct CountCursor {
    /// The initial offset.
    begin: u64,
    seen: u64,
    /// The key of the session's first message.
    first: Option<String>,
    /// The progress of the current connection.
    connection: ReplayState,
}

enum ReplayState {
    /// No message has arrived yet.
    Fresh,
    /// This many messages are still replayed.
    Again(u64),
}

impl CountCursor {
    pub fn new(offset: u64) -> Self {
        Self { begin: offset, seen: offset, first: None, connection: ReplayState::Again(0) }
    }

    fn note_first(&mut self, text: &str) {
        if self.seen == 0 && self.first.is_none() {
            self.first = Some(message_key(text));
        }
    }

    fn is_first_again(&self, text: &str) -> bool {
        self.first.as_ref().is_some_and(|first| *first == message_key(text))
    }
}

impl FeedCursor for CountCursor {
    type Item = String;

    fn socket_query(&mut self) -> String {
        self.connection = ReplayState::Fresh;
        if self.seen == 0 { String::new() } else { format!("?offset={}", self.seen) }
    }

    fn page_query(&self) -> String {
        format!("?offset={}&limit={MAX_PAGE_MESSAGES}", self.seen)
    }

    /// A server that does not support the offset of a WebSocket starts over with the session's first message.
    fn take_message(&mut self, text: &str) -> Result<Option<String>, FeedError> {
        if matches!(self.connection, ReplayState::Fresh) {
            let again = self.seen > 0 && self.begin == 0 && self.is_first_again(text);
            self.connection = ReplayState::Again(if again { self.seen } else { 0 });
        }
        if let ReplayState::Again(left @ 1..) = &mut self.connection {
            *left -= 1;
            return Ok(None);
        }
        self.take_page_message(text)
    }

    fn take_page_message(&mut self, text: &str) -> Result<Option<String>, FeedError> {
        self.note_first(text);
        self.seen += 1;
        Ok(Some(text.to_owned()))
    }
}

/// Returns the ID of a message, or the whole text if it has none.
fn message_key(text: &str) -> String {
    #[derive(Deserialize)]
    struct MessageWithId {
        id: String,
    }
    serde_json::from_str::<MessageWithId>(text).map_or_else(|_| text.to_owned(), |named| named.id)
}

#[cfg(test)]
mod tests {
    use super::{CountCursor, FeedCursor, FeedError, SeqCursor};

    fn take_messages(cursor: &mut CountCursor, texts: &[&str]) -> Vec<String> {
        texts.iter().filter_map(|text| cursor.take_message(text).unwrap()).collect()
    }

    const A: &str = r#"{"id":"a"}"#;
    const B: &str = r#"{"id":"b"}"#;
    const C: &str = r#"{"id":"c"}"#;

    #[test]
    fn a_server_that_knows_offsets_and_one_that_does_not() {
        for again in [&[B, C][..], &[A, B, C]] {
            let mut cursor = CountCursor::new(0);
            assert_eq!(cursor.socket_query(), "");
            assert_eq!(take_messages(&mut cursor, &[A]), [A]);
            assert_eq!(
                (cursor.socket_query().as_str(), cursor.page_query().as_str()),
                ("?offset=1", "?offset=1&limit=500")
            );
            assert_eq!(take_messages(&mut cursor, again), [B, C], "{again:?}");
            assert_eq!(cursor.socket_query(), "?offset=3");
        }
    }

    #[test]
    fn a_replay_that_is_cut_is_no_news() {
        let mut cursor = CountCursor::new(0);
        cursor.socket_query();
        assert_eq!(take_messages(&mut cursor, &[A, B]), [A, B]);
        cursor.socket_query();
        assert_eq!(take_messages(&mut cursor, &[A]).len(), 0);
        cursor.socket_query();
        assert_eq!(take_messages(&mut cursor, &[A, B, C]), [C]);
    }

    #[test]
    fn events_are_dense() {
        let event = |seq: u64| {
            let head =
                r#""session":"s","at":"2026-01-01T00:00:00Z","agent":"a","kind":"notice","data":{"topic":"echo"}"#;
            format!(r#"{{"seq":{seq},{head}}}"#)
        };
        let mut cursor = SeqCursor::new(1);
        assert!(cursor.take_message(&event(1)).unwrap().is_none());
        assert_eq!(cursor.take_message(&event(2)).unwrap().unwrap().seq, 2);
        assert!(matches!(cursor.take_message(&event(4)), Err(FeedError::Gap(_))));
        assert!(cursor.socket_query().ends_with("&after=2"));
        assert!(matches!(cursor.take_message("{}"), Err(FeedError::Malformed(_))));
    }
}
