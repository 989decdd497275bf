//! Tests of what people see: recordings of every agent, hostile content, asking.

mod answer;
mod asking;
mod hostile;
mod recorded;
mod requests;
mod status;

use std::sync::OnceLock;

use switchboard_event::{Event, EventBody, Id, Timestamp};
use switchboard_testkit::{
    play::stream_events,
    recording::{Recording, load_recordings},
};

use super::{Options, Output, Sink, View};

/// What was written: to each sink, and in order to a shared screen.
#[derive(Default)]
struct Written {
    answer: String,
    activity: String,
    all: String,
}

impl Written {
    fn take(&mut self, out: &mut Output) {
        for (sink, text) in out.pieces() {
            match sink {
                Sink::Answer => self.answer.push_str(text),
                Sink::Activity => self.activity.push_str(text),
            }
            self.all.push_str(text);
        }
        out.clear();
    }
}

/// What a view makes of events.
fn shown(events: &[Event], options: Options) -> Written {
    let (mut view, mut out, mut written) = (View::new(options), Output::default(), Written::default());
    for event in events {
        view.event(event, &mut out);
        written.take(&mut out);
    }
    written
}

/// The events of a recording, by the name of its source, a space, its folder and its file.
fn recorded(name: &str) -> Vec<Event> {
    let found = all().iter().find(|recording| recording.to_string() == name);
    played(found.unwrap_or_else(|| panic!("there is no recording {name}")))
}

/// All recordings, read once.
fn all() -> &'static [Recording] {
    static ALL: OnceLock<Vec<Recording>> = OnceLock::new();
    ALL.get_or_init(|| load_recordings().unwrap())
}

/// Some recordings have times of their own in some records only, which gives durations of weeks: those are left out.
fn played(recording: &Recording) -> Vec<Event> {
    let mut events = stream_events(recording.source, &recording.bytes);
    for event in &mut events {
        if let EventBody::ItemCompleted(item) = &mut event.body {
            item.duration_ms = item.duration_ms.filter(|millis| *millis < 86_400_000);
        }
    }
    events
}

/// An event of the agent itself.
fn event(item: Option<&str>, body: EventBody) -> Event {
    Event {
        seq: 1,
        session: Id::from("0198c0de"),
        at: Timestamp::from_millis(1_790_000_000_000).unwrap(),
        agent: Id::from("agent"),
        run: 1,
        turn: Some(1),
        item: item.map(Id::from),
        parent: None,
        thread: None,
        body,
        native: None,
        cause: None,
    }
}

/// Colours as words, so that a snapshot can be read.
fn readable(text: &str) -> String {
    let words = [
        ("\x1b[0m", "⟨/⟩"),
        ("\x1b[1m", "⟨bold⟩"),
        ("\x1b[2m", "⟨dim⟩"),
        ("\x1b[31m", "⟨red⟩"),
        ("\x1b[32m", "⟨green⟩"),
        ("\x1b[33m", "⟨yellow⟩"),
        ("\x1b[36m", "⟨cyan⟩"),
    ];
    words.into_iter().fold(text.to_owned(), |text, (code, word)| text.replace(code, word))
}

/// Compares a text with its stored snapshot.
#[track_caller]
fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../testdata/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
