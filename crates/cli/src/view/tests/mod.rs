//! Tests of what people see: recordings of every agent, hostile content, requests.

mod answer;
mod asking;
mod hostile;
mod requests;
mod status;

use std::sync::OnceLock;

use switchboard_event::{Event, EventBody, Id, Timestamp};
use switchboard_testkit::recording::{Recording, load_recordings, stream_events};

use super::{OutputSink, TranscriptView, ViewOptions, ViewOutput};

/// The output: for each sink, and in order for a shared screen.
#[derive(Default)]
struct WrittenOutput {
    answer: String,
    activity: String,
    all: String,
}

impl WrittenOutput {
    fn take(&mut self, out: &mut ViewOutput) {
        for (sink, text) in out.pieces() {
            match sink {
                OutputSink::Answer => self.answer.push_str(text),
                OutputSink::Activity => self.activity.push_str(text),
            }
            self.all.push_str(text);
        }
        out.clear();
    }
}

fn render(events: &[Event], options: ViewOptions) -> WrittenOutput {
    let (mut view, mut out, mut written) =
        (TranscriptView::new(options), ViewOutput::default(), WrittenOutput::default());
    for event in events {
        view.event(event, &mut out);
        written.take(&mut out);
    }
    written
}

/// Returns the events of a recording, by the name of its source, a space, its directory and its file.
fn recorded_events(name: &str) -> Vec<Event> {
    let found = all_recordings().iter().find(|recording| recording.to_string() == name);
    play(found.unwrap_or_else(|| panic!("there is no recording {name}")))
}

fn all_recordings() -> &'static [Recording] {
    static ALL: OnceLock<Vec<Recording>> = OnceLock::new();
    ALL.get_or_init(|| load_recordings().unwrap())
}

/// Some recordings have times in some records only, which results in durations of weeks: those are left out.
fn play(recording: &Recording) -> Vec<Event> {
    let mut events = stream_events(recording.source, &recording.bytes);
    for event in &mut events {
        if let EventBody::ItemCompleted(item) = &mut event.body {
            item.duration_ms = item.duration_ms.filter(|millis| *millis < 86_400_000);
        }
    }
    events
}

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

/// Replaces colors by words, so that snapshots are readable.
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

/// Recordings of all agents with all kinds of items.
const RECORDINGS: &[&str] = &[
    "claude live/a_text_partial",
    "claude live/b_bash_default_denied",
    "claude live/b_bashbg",
    "claude live/b_parallel",
    "claude live/c_todo",
    "claude live/c_write_edit_partial",
    "claude live/d_think",
    "claude live/e_stdio_allow",
    "claude live/e_stdio_deny",
    "claude live/f_interrupt_text",
    "claude live/f_queue_two",
    "claude live/h_e529",
    "claude live/i_task_ask",
    "claude live/i_taskfg_forward",
    "claude live/k_schema",
    "claude live/y_big",
    "codex live/shell",
    "codex live/http401",
    "codex:app-server app-server/cmd-cancel",
    "codex:app-server app-server/interrupt-shell",
    "codex:app-server app-server/made-file-changes",
    "codex:app-server app-server/made-notices",
    "codex:app-server app-server/made-subagent",
    "codex:app-server app-server/mcp",
    "codex:app-server app-server/plan",
    "codex:app-server app-server/steer",
    "codex:app-server app-server/websearch",
    "gemini live/made-tools",
    "gemini live/27-api-429",
    "opencode live/04write_edit_always",
    "opencode live/08subagent",
    "opencode live/made-tools",
    "acp live/gemini-allow",
    "acp live/made-permissions",
    "script live/made-all-verbs.txt",
    "script live/made-fail.txt",
];

fn looks(events: &[Event]) -> String {
    let piped = render(events, ViewOptions::piped());
    let terminal = render(events, ViewOptions::terminal(80));
    let terminal = readable(&terminal.all);
    format!("# stdout\n{}\n# stderr\n{}\n# terminal\n{terminal}", piped.answer, piped.activity)
}

#[test]
fn recordings_look_as_they_did() {
    for name in RECORDINGS {
        let file = name.replace([' ', '/', ':'], "-");
        check(&file, &looks(&recorded_events(name)));
    }
}

#[test]
fn colour_is_the_only_difference() {
    for name in RECORDINGS {
        let plain = render(&recorded_events(name), ViewOptions { color: false, ..ViewOptions::terminal(80) }).all;
        let colored = readable(&render(&recorded_events(name), ViewOptions::terminal(80)).all);
        let without = ["⟨/⟩", "⟨bold⟩", "⟨dim⟩", "⟨red⟩", "⟨green⟩", "⟨yellow⟩", "⟨cyan⟩"];
        assert_eq!(without.into_iter().fold(colored, |text, word| text.replace(word, "")), plain, "{name}");
    }
}
