//! Several who bring one index up to date at once, for different ends.

use std::thread;

use serde_json::json;
use switchboard_agents::Depth;

use crate::place::{Place, hits, library, refresh};

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
