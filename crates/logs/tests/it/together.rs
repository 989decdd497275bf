//! Concurrent refreshes of one index at different depths.

use std::{fs::OpenOptions, io::Write as _, sync::Once, thread};

use serde_json::json;
use switchboard_agents::ScanDepth;
use switchboard_logs::{LogLibrary, LogsError};
use switchboard_testkit::corpus::CorpusOptions;

use crate::place::{LibraryFixture, full_ledger, hit_sessions, open_library, refresh_all};

/// Adds a log with one prompt.
fn add_prompt_log(place: &LibraryFixture, word: &str, number: usize) {
    let id = format!("{number:08}-0000-4000-8000-000000000000");
    let record = json!({"type": "user", "sessionId": id, "uuid": id, "cwd": "/home/dev/project",
        "timestamp": "2026-11-16T10:00:00.000Z", "message": {"role": "user", "content": format!("look at {word}")}});
    place.write_file(&format!(".claude/projects/-home-dev-project/{id}.jsonl"), format!("{record}\n").as_bytes());
}

#[test]
fn who_looks_for_words_has_them_also_beside_those_who_only_count() {
    let place = LibraryFixture::new();
    for round in 0..20 {
        (0..10).for_each(|number| add_prompt_log(&place, &format!("needle{round}x{number}"), round * 10 + number));
        let (counts, reads) =
            (open_library(&place.home_dir(), &place.data_dir()), open_library(&place.home_dir(), &place.data_dir()));
        thread::scope(|scope| {
            scope.spawn(|| counts.refresh_index(ScanDepth::Tokens, &|_| {}).unwrap());
            refresh_all(&reads);
        });
        for number in 0..10 {
            let word = format!("needle{round}x{number}");
            assert_eq!(hit_sessions(&reads, &word, 5).len(), 1, "{word}");
        }
    }
}

/// Counts the replies, running `meanwhile` during the query.
fn count_replies(library: &LogLibrary, meanwhile: impl Fn() + Sync) -> usize {
    let question = |library: &LogLibrary| {
        let count = full_ledger(library).entries.len();
        meanwhile();
        Ok::<_, LogsError>(count)
    };
    library.refresh_and_query(ScanDepth::Tokens, &|_| {}, question).unwrap().1
}

#[test]
fn a_question_is_answered_as_things_are_now() {
    let (place, truth) = LibraryFixture::with_corpus(&CorpusOptions::small(3));
    let library = place.open_library();
    let all = count_replies(&library, || {});
    assert_eq!((all, count_replies(&library, || {})), (full_ledger(&place.open_library()).entries.len(), all));
    // Another library indexes a new record during the query: the early answer is discarded.
    let other = place.open_library();
    let (home, new, growth) = (place.home_dir(), Once::new(), truth.growth.unwrap());
    let grow = || {
        new.call_once(|| {
            let path = home.join(&growth.path);
            let mut log = OpenOptions::new().append(true).open(path).unwrap();
            log.write_all(growth.line.as_bytes()).unwrap();
            refresh_all(&other);
        });
    };
    let with_it = count_replies(&library, grow);
    assert_eq!(with_it, full_ledger(&other).entries.len());
    assert!(with_it > all);
}
