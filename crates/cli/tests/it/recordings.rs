//! Every source has recordings, and a snapshot of what each of them means. `cargo xtask snapshots` rewrites the snapshots.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use serde_json::Value;
use switchboard_agents::SOURCES;
use switchboard_event::{Dir, Event};
use switchboard_testkit::recording::{Recording, load_recordings, stream_events};

use crate::verdict;

/// Maximum length of texts and lists.
const TEXT: usize = 72;

const LIST: usize = 6;

#[test]
fn every_source_has_recordings() {
    let recorded: BTreeSet<_> = load_recordings().unwrap().iter().map(|recording| recording.source.name).collect();
    let all = SOURCES.iter().copied().flatten();
    verdict("sources without recordings", all.map(|source| source.name).filter(|name| !recorded.contains(name)));
}

#[test]
fn no_two_recordings_are_the_same() {
    let mut seen = BTreeSet::new();
    let recordings = load_recordings().unwrap();
    verdict(
        "recorded twice",
        recordings.iter().filter(|recording| !seen.insert((recording.source.name, &recording.bytes))),
    );
}

#[test]
fn recordings_mean_what_they_meant() {
    let recordings = load_recordings().unwrap();
    let failed = recordings.iter().filter(|recording| {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(recording.testdata.join("snapshots"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let text = render(&stream_events(recording.source, &recording.bytes));
        // Insta reports one difference and fails; this collects all of them.
        catch_unwind(AssertUnwindSafe(|| settings.bind(|| insta::assert_snapshot!(name(recording), text)))).is_err()
    });
    verdict("`cargo xtask snapshots` writes them anew; then look at the difference", failed);
}

#[test]
fn every_snapshot_has_its_recording() {
    let recordings = load_recordings().unwrap();
    let snapshot =
        |recording: &Recording| recording.testdata.join("snapshots").join(format!("{}.snap", name(recording)));
    let known: BTreeSet<PathBuf> = recordings.iter().map(snapshot).collect();
    let folders: BTreeSet<PathBuf> = recordings.iter().map(|recording| recording.testdata.join("snapshots")).collect();
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let left_over = files.map(|entry| entry.unwrap().path()).filter(|file| !known.contains(file));
    verdict("snapshots of nothing", left_over.map(|file| file.display().to_string()));
}

fn name(recording: &Recording) -> String {
    format!("{}__{}", recording.kind, recording.name)
}

/// Renders one line per event: `<` marks a record from the agent, `>` one to it.
fn render(events: &[Event]) -> String {
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(event: &Event) -> String {
    let stored: Value = serde_json::from_str(switchboard_event::to_raw_json(event).get()).unwrap();
    let record = match event.native.as_ref().map(|native| native.dir) {
        Some(Dir::In) => "<",
        Some(Dir::Out) => ">",
        None => " ",
    };
    let turn = event.turn.map(|turn| format!("t{turn}")).unwrap_or_default();
    let place = [("", &event.item), ("under=", &event.parent), ("thread=", &event.thread)];
    let place: String = place.iter().filter_map(|(word, id)| Some(format!("{word}{} ", id.as_ref()?))).collect();
    let kind = stored.pointer("/kind").and_then(Value::as_str).unwrap_or_default();
    let data = said(stored.pointer("/data").unwrap_or(&Value::Null));
    format!("{record}{:>3} {kind:<16} {turn:<2} {place}{data}", event.seq).trim_end().to_owned()
}

/// Renders the content of an event; for an item, its type and status first.
fn said(data: &Value) -> String {
    let Some(Value::Object(item)) = data.get("item") else { return short(data) };
    let mut rest = item.clone();
    let [kind, status] = ["type", "status"].map(|key| rest.remove(key).unwrap_or_default());
    let [kind, status] = [&kind, &status].map(|word| word.as_str().unwrap_or_default());
    format!("{kind} {status} {}", short(&rest.into()))
}

/// Renders JSON briefly: without quotes around names, and with long values cut.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) => short_text(text),
        Value::Array(elements) => {
            let more = elements.len().saturating_sub(LIST);
            let shown = elements.iter().take(LIST).map(short);
            let more = (more > 0).then(|| format!("… {more} more"));
            format!("[{}]", shown.chain(more).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().collect();
            let fields = fields.into_iter().map(|(key, value)| format!("{key}: {}", short(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn short_text(text: &str) -> String {
    let length = text.chars().count();
    let shown: String = text.chars().take(TEXT).collect();
    if length > TEXT { format!("{shown:?}… {length}") } else { format!("{shown:?}") }
}
