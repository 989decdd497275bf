//! Whoever watches a session grow has, at every moment, what somebody who comes then would be given: for the recordings of
//! all agents, wherever what they said is cut and wherever the connection breaks.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_event::{Event, Kind};
use switchboard_page::sheet::{EventLookup, NoPrices, SkippedText, Timeline, TimelineCursor, TimelineOp};
use switchboard_testkit::{dice::SeededRng, play, recording::load_recordings};

/// No more of a recording is played.
const MOST: usize = 1_500;

struct Played<'a>(&'a [Event]);

impl EventLookup for Played<'_> {
    fn event(&mut self, seq: u64) -> Option<Event> {
        self.0.iter().find(|event| event.seq == seq).cloned()
    }

    fn media(&self) -> &'static str {
        "/media"
    }
}

/// What a page has.
#[derive(Default)]
struct Reader {
    cursor: TimelineCursor,
    entries: BTreeMap<u32, Value>,
}

impl Reader {
    /// Loads all that there is.
    fn load(&mut self, sheet: &Timeline, events: &[Event]) {
        self.entries = all(sheet, events);
        self.cursor = sheet.cursor(sheet.seq());
    }

    /// The connection broke: only the place is left.
    fn reconnect(&mut self, sheet: &Timeline) {
        self.cursor = sheet.cursor(self.cursor.seq);
    }

    fn hear(&mut self, sheet: &Timeline, events: &[Event]) {
        let ops = sheet.changes(&mut self.cursor, |n| shown(sheet, n, events));
        for op in ops {
            match op {
                TimelineOp::Entry { entry } => drop(self.entries.insert(number(&entry), entry)),
                TimelineOp::Text { n, text } => {
                    let tail = &mut self.entries.get_mut(&n).unwrap()["tail"];
                    *tail = format!("{}{text}", tail.as_str().unwrap()).into();
                }
                TimelineOp::Blocks { n, html, tail } => {
                    let entry = self.entries.get_mut(&n).unwrap();
                    entry["html"] = format!("{}{}", entry["html"].as_str().unwrap(), html.as_str()).into();
                    entry["tail"] = tail.into();
                }
                TimelineOp::Reset => return self.load(sheet, events),
            }
        }
    }
}

fn number(entry: &Value) -> u32 {
    u32::try_from(entry["n"].as_u64().unwrap()).unwrap()
}

fn shown(sheet: &Timeline, n: u32, events: &[Event]) -> Option<Value> {
    sheet.entry(n, &mut Played(events)).map(|entry| serde_json::to_value(entry).unwrap())
}

fn all(sheet: &Timeline, events: &[Event]) -> BTreeMap<u32, Value> {
    (0..sheet.len())
        .map(|n| (n, shown(sheet, n, events).unwrap_or_else(|| panic!("entry {n} cannot be shown"))))
        .collect()
}

/// A sheet of what there is, read in full or in a hurry.
fn fresh(events: &[Event], hurry: bool) -> Timeline {
    let mut sheet = Timeline::default();
    if !hurry {
        events.iter().for_each(|event| sheet.see(event, &NoPrices));
        return sheet;
    }
    let is_of = |event: &&Event, kinds: &[Kind]| kinds.contains(&event.body.kind());
    let shown = events.iter().filter(|event| is_of(event, Timeline::KINDS_WITHOUT_TEXT));
    shown.for_each(|event| sheet.see(event, &NoPrices));
    let skipped = sheet.skip_text(events.last().map_or(0, |event| event.seq));
    let missing = events.iter().filter(|event| is_of(event, SkippedText::KINDS));
    missing.for_each(|event| sheet.apply_skipped(&skipped, event));
    sheet
}

/// What may differ: with text that grows, neither the latest event nor the number of lines is told.
fn steady(mut entries: BTreeMap<u32, Value>) -> BTreeMap<u32, Value> {
    for entry in entries.values_mut().filter(|entry| entry["status"] == "running") {
        let entry = entry.as_object_mut().unwrap();
        entry.remove("last");
        entry.remove("size");
    }
    entries
}

fn check(name: &str, events: &[Event], seed: u64) {
    let mut dice = SeededRng::new(seed);
    let (mut sheet, mut reader, mut late) = (Timeline::default(), Reader::default(), Reader::default());
    for (at, event) in events.iter().enumerate() {
        sheet.see(event, &NoPrices);
        if dice.next_below(3) > 0 {
            continue;
        }
        let seen = &events[..=at];
        if dice.next_below(8) == 0 {
            reader.reconnect(&sheet);
        }
        reader.hear(&sheet, seen);
        if dice.next_below(20) == 0 {
            late.hear(&sheet, seen);
        }
        if dice.next_below(12) == 0 {
            let fresh = fresh(seen, dice.next_below(2) == 0);
            let expected = steady(all(&fresh, seen));
            assert_eq!(steady(reader.entries.clone()), expected, "{name} at event {} (seed {seed})", event.seq);
        }
    }
    reader.hear(&sheet, events);
    late.hear(&sheet, events);
    let expected = steady(all(&fresh(events, true), events));
    assert_eq!(steady(reader.entries), expected, "{name} at its end (seed {seed})");
    assert_eq!(steady(late.entries), expected, "{name} at its end, for who is late (seed {seed})");
}

#[test]
fn who_watches_has_what_who_comes_later_gets() {
    let mut played = 0;
    for recording in load_recordings().unwrap() {
        let mut events = play::stream_events(recording.source, &recording.bytes);
        events.truncate(MOST);
        played += events.len();
        for seed in 0..2 {
            check(&recording.to_string(), &events, seed);
        }
    }
    assert!(played > 1_000, "{played}");
}
