//! Plays a stream: bytes to events, and events to messages. Clock and ids are fixed, so the same bytes give the same
//! result.

use switchboard_agents::{LineSplitter, Record, RecordSource, RecordTranslator, TranslatorOptions};
use switchboard_dialects::{MessageBuffer, Projection};
use switchboard_event::{Event, Id, Timestamp};

/// The session of a stream that names none.
pub const MADE_UP_SESSION_ID: &str = "made-up-session";

/// Translates a source's bytes, in pieces of any size.
pub struct StreamPlayer {
    lines: LineSplitter,
    translator: RecordTranslator,
}

impl StreamPlayer {
    #[must_use]
    pub fn new(source: &RecordSource) -> Self {
        let options = TranslatorOptions {
            made_up: Id::from(MADE_UP_SESSION_ID),
            arrival: Timestamp::from_millis(1_790_000_000_000).unwrap_or_default(),
            run: 1,
            ..TranslatorOptions::default()
        };
        Self { lines: LineSplitter::default(), translator: RecordTranslator::new(source, options) }
    }

    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Event>) {
        let translator = &mut self.translator;
        self.lines.push(bytes, |line| translate_line(translator, line, out));
    }

    pub fn finish(mut self, out: &mut Vec<Event>) {
        let translator = &mut self.translator;
        self.lines.finish(|line| translate_line(translator, line, out));
        self.translator.finish(out);
    }
}

fn translate_line(translator: &mut RecordTranslator, line: &[u8], out: &mut Vec<Event>) {
    Record::for_each_in_line(line, |record| translator.translate_record(record, out));
}

/// Returns the events of a whole stream.
#[must_use]
pub fn stream_events(source: &RecordSource, bytes: &[u8]) -> Vec<Event> {
    events_from_pieces(source, [bytes])
}

/// Returns the events of a stream that arrives in pieces.
#[must_use]
pub fn events_from_pieces<'a>(source: &RecordSource, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
    let (mut player, mut out) = (StreamPlayer::new(source), Vec::new());
    for piece in pieces {
        player.push(piece, &mut out);
    }
    player.finish(&mut out);
    out
}

#[must_use]
pub fn stored_json(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| switchboard_event::to_raw_json(event).get().to_owned()).collect()
}

pub fn project_messages(projection: &mut dyn Projection, events: &[Event]) -> Vec<Vec<u8>> {
    let mut out = MessageBuffer::default();
    for event in events {
        projection.project_event(event, &mut out);
    }
    out.iter().map(<[u8]>::to_vec).collect()
}
