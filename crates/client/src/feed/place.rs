//! Where a reader is: by the `seq` of events, or by the number of messages. Each knows how to ask for what is behind
//! it, and tells what is new from what it has seen.

use serde::Deserialize;
use switchboard_dialects::DIALECTS;
use switchboard_event::Event;

/// Where a reader is.
pub trait Place: Send + 'static {
    /// What it reads.
    type Item: Send;
    /// The query of a WebSocket that goes on from here. Called once for each connection.
    fn socket(&mut self) -> String;
    /// The query of the next page.
    fn page(&self) -> String;
    /// Takes a message of a WebSocket; nothing if it was seen before.
    fn take(&mut self, text: &str) -> Result<Option<Self::Item>, Amiss>;
    /// Takes a message of a page.
    fn take_from_page(&mut self, text: &str) -> Result<Option<Self::Item>, Amiss>;
}

/// A message that cannot be taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Amiss {
    /// Something between it and the last one is missing.
    Gap(String),
    /// It makes no sense.
    Strange(String),
}

/// How many messages a page may have.
const PAGE: usize = 500;

/// So many seconds a server may keep us waiting for a page.
const WAIT: u32 = 20;

/// A reader of events.
pub struct BySeq {
    last: u64,
}

impl BySeq {
    pub fn new(after: u64) -> Self {
        Self { last: after }
    }
}

/// The dialect whose messages are the events themselves.
fn verbatim() -> &'static str {
    DIALECTS.iter().find(|dialect| dialect.verbatim).map_or("", |dialect| dialect.name)
}

impl Place for BySeq {
    type Item = Event;

    fn socket(&mut self) -> String {
        format!("?dialect={}&after={}", verbatim(), self.last)
    }

    fn page(&self) -> String {
        format!("?dialect={}&after={}&limit={PAGE}&wait={WAIT}", verbatim(), self.last)
    }

    fn take(&mut self, text: &str) -> Result<Option<Event>, Amiss> {
        let event = Event::from_json(text).map_err(|error| Amiss::Strange(error.to_string()))?;
        if event.seq <= self.last {
            return Ok(None);
        }
        if event.seq != self.last + 1 {
            return Err(Amiss::Gap(format!("event {} came after event {}", event.seq, self.last)));
        }
        self.last = event.seq;
        Ok(Some(event))
    }

    fn take_from_page(&mut self, text: &str) -> Result<Option<Event>, Amiss> {
        self.take(text)
    }
}

/// A reader of messages that have no numbers.
pub struct ByCount {
    /// Where it began.
    begin: u64,
    seen: u64,
    /// What the first message of all is known by.
    first: Option<String>,
    /// How far this connection is.
    connection: Connected,
}

enum Connected {
    /// Nothing has come yet.
    Fresh,
    /// So many messages come again.
    Again(u64),
}

impl ByCount {
    pub fn new(offset: u64) -> Self {
        Self { begin: offset, seen: offset, first: None, connection: Connected::Again(0) }
    }

    fn note_first(&mut self, text: &str) {
        if self.seen == 0 && self.first.is_none() {
            self.first = Some(known_by(text));
        }
    }

    fn is_first_again(&self, text: &str) -> bool {
        self.first.as_ref().is_some_and(|first| *first == known_by(text))
    }
}

impl Place for ByCount {
    type Item = String;

    fn socket(&mut self) -> String {
        self.connection = Connected::Fresh;
        if self.seen == 0 { String::new() } else { format!("?offset={}", self.seen) }
    }

    fn page(&self) -> String {
        format!("?offset={}&limit={PAGE}", self.seen)
    }

    /// A server that does not know the offset of a WebSocket begins with the first message of all.
    fn take(&mut self, text: &str) -> Result<Option<String>, Amiss> {
        if matches!(self.connection, Connected::Fresh) {
            let again = self.seen > 0 && self.begin == 0 && self.is_first_again(text);
            self.connection = Connected::Again(if again { self.seen } else { 0 });
        }
        if let Connected::Again(left @ 1..) = &mut self.connection {
            *left -= 1;
            return Ok(None);
        }
        self.take_from_page(text)
    }

    fn take_from_page(&mut self, text: &str) -> Result<Option<String>, Amiss> {
        self.note_first(text);
        self.seen += 1;
        Ok(Some(text.to_owned()))
    }
}

/// The id of a message, or all of it if it has none.
fn known_by(text: &str) -> String {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    serde_json::from_str::<Named>(text).map_or_else(|_| text.to_owned(), |named| named.id)
}

#[cfg(test)]
mod tests {
    use super::{Amiss, ByCount, BySeq, Place};

    fn taken(place: &mut ByCount, texts: &[&str]) -> Vec<String> {
        texts.iter().filter_map(|text| place.take(text).unwrap()).collect()
    }

    const A: &str = r#"{"id":"a"}"#;
    const B: &str = r#"{"id":"b"}"#;
    const C: &str = r#"{"id":"c"}"#;

    #[test]
    fn a_server_that_knows_offsets_and_one_that_does_not() {
        for again in [&[B, C][..], &[A, B, C]] {
            let mut place = ByCount::new(0);
            assert_eq!(place.socket(), "");
            assert_eq!(taken(&mut place, &[A]), [A]);
            assert_eq!((place.socket().as_str(), place.page().as_str()), ("?offset=1", "?offset=1&limit=500"));
            assert_eq!(taken(&mut place, again), [B, C], "{again:?}");
            assert_eq!(place.socket(), "?offset=3");
        }
    }

    #[test]
    fn a_replay_that_is_cut_is_no_news() {
        let mut place = ByCount::new(0);
        place.socket();
        assert_eq!(taken(&mut place, &[A, B]), [A, B]);
        place.socket();
        assert_eq!(taken(&mut place, &[A]).len(), 0);
        place.socket();
        assert_eq!(taken(&mut place, &[A, B, C]), [C]);
    }

    #[test]
    fn events_are_dense() {
        let event = |seq: u64| {
            let head =
                r#""session":"s","at":"2026-01-01T00:00:00Z","agent":"a","kind":"notice","data":{"topic":"echo"}"#;
            format!(r#"{{"seq":{seq},{head}}}"#)
        };
        let mut place = BySeq::new(1);
        assert!(place.take(&event(1)).unwrap().is_none());
        assert_eq!(place.take(&event(2)).unwrap().unwrap().seq, 2);
        assert!(matches!(place.take(&event(4)), Err(Amiss::Gap(_))));
        assert!(place.socket().ends_with("&after=2"));
        assert!(matches!(place.take("{}"), Err(Amiss::Strange(_))));
    }
}
