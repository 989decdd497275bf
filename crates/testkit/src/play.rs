//! Playing a stream: bytes in, events out, and events in, messages out. Always with the same clock and ids, so
//! that the same bytes give the same result.

use switchboard_agents::{Lines, Options, Record, Source, Translator};
use switchboard_dialects::{Messages, Projection};
use switchboard_event::{Event, Id, Timestamp};

/// The session of a stream that names none.
pub const MADE_UP: &str = "made-up-session";

/// A source being read, fed with bytes in pieces of any size.
pub struct Player {
    lines: Lines,
    translator: Translator,
}

impl Player {
    /// A player at the beginning of a stream.
    #[must_use]
    pub fn new(source: &Source) -> Self {
        let options = Options {
            made_up: Id::from(MADE_UP),
            arrival: Timestamp::from_millis(1_790_000_000_000).unwrap_or_default(),
            run: 1,
            ..Options::default()
        };
        Self { lines: Lines::default(), translator: Translator::new(source, options) }
    }

    /// Some bytes arrived.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Event>) {
        let translator = &mut self.translator;
        self.lines.push(bytes, |line| read(translator, line, out));
    }

    /// The stream is over.
    pub fn end(mut self, out: &mut Vec<Event>) {
        let translator = &mut self.translator;
        self.lines.finish(|line| read(translator, line, out));
        self.translator.end(out);
    }
}

fn read(translator: &mut Translator, line: &[u8], out: &mut Vec<Event>) {
    Record::for_each_in_line(line, |record| translator.record(record, out));
}

/// The events of a whole stream.
#[must_use]
pub fn events(source: &Source, bytes: &[u8]) -> Vec<Event> {
    events_of_pieces(source, [bytes])
}

/// The events of a stream that arrives in pieces.
#[must_use]
pub fn events_of_pieces<'a>(source: &Source, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let (mut player, mut out) = (Player::new(source), Vec::new());
    for piece in pieces {
        player.push(piece, &mut out);
    }
    player.end(&mut out);
    out
}

/// Events as they are stored.
#[must_use]
pub fn stored(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| switchboard_event::raw(event).get().to_owned()).collect()
}

/// The messages that events give.
pub fn messages(projection: &mut dyn Projection, events: &[Event]) -> Vec<Vec<u8>> {
    let mut out = Messages::default();
    for event in events {
        projection.event(event, &mut out);
    }
    out.iter().map(<[u8]>::to_vec).collect()
}
