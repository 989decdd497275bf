//! Several who bring one index up to date at once, for different ends.

use std::{fs::OpenOptions, io::Write as _, sync::Once, thread};

use serde_json::json;
use switchboard_agents::Depth;
use switchboard_logs::{Library, LogsError};
use switchboard_testkit::corpus::Wanted;

use crate::place::{Place, hits, ledger, library, refresh};

/// A log with one prompt.
fn add(place: &Place, word: &str, number: usize) {
    let id = format!("{number:08}-0000-4000-8000-000000000000");
    let record = json!({"type": "user", "sessionId": id, "uuid": id, "cwd": "/home/dev/project",
        "timestamp": "2026-11-16T10:00:00.000Z", "message": {"role": "user", "content": format!("look at {word}")}});
    place.file(&format!(".claude/projects/-home-dev-project/{id}.jsonl"), format!("{record}\n").as_bytes());
}

#[test]
fn who_looks_for_words_has_them_also_beside_those_who_only_count() {
    let place = Place::new();
    for round in 0..20 {
        (0..10).for_each(|number| add(&place, &format!("needle{round}x{number}"), round * 10 + number));
        let (counts, reads) = (library(&place.home(), &place.data()), library(&place.home(), &place.data()));
        thread::scope(|scope| {
            scope.spawn(|| counts.refresh(Depth::Tokens, &|_| {}).unwrap());
            refresh(&reads);
        });
        for number in 0..10 {
            let word = format!("needle{round}x{number}");
            assert_eq!(hits(&reads, &word, 5).len(), 1, "{word}");
        }
    }
}

/// Asks how many replies there are, and what else is to happen while it is asked.
fn replies(library: &Library, meanwhile: impl Fn() + Sync) -> usize {
    let question = |library: &Library| {
        let count = ledger(library).entries.len();
        meanwhile();
        Ok::<_, LogsError>(count)
    };
    library.ask(Depth::Tokens, &|_| {}, question).unwrap().1
}

#[test]
fn a_question_is_answered_as_things_are_now() {
    let (place, truth) = Place::with_corpus(&Wanted::small(3));
    let library = place.library();
    let all = replies(&library, || {});
    assert_eq!((all, replies(&library, || {})), (ledger(&place.library()).entries.len(), all));
    // Somebody else sees a new log while the question is asked: the answer of before is not told.
    let other = place.library();
    let (home, new, growth) = (place.home(), Once::new(), truth.growth.unwrap());
    let grow = || {
        new.call_once(|| {
            let path = home.join(&growth.path);
            let mut log = OpenOptions::new().append(true).open(path).unwrap();
            log.write_all(growth.line.as_bytes()).unwrap();
            refresh(&other);
        });
    };
    let with_it = replies(&library, grow);
    assert_eq!(with_it, ledger(&other).entries.len());
    assert!(with_it > all);
}
