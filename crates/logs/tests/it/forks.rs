//! Sessions that began as a copy and have what came before only by reference.

use switchboard_event::{Body, Details, Event};
use switchboard_logs::Transcript;

use switchboard_testkit::corpus::agents::claude;

use crate::place::{Place, by_session, ledger};

const LOGS: [&str; 3] = [
    include_str!("../../../agents/src/codex/testdata/log/forked-paged-1.jsonl"),
    include_str!("../../../agents/src/codex/testdata/log/forked-paged-2.jsonl"),
    include_str!("../../../agents/src/codex/testdata/log/forked-paged-3.jsonl"),
];

const LAST: &str = "01a1e3f8-f1f5-73e3-b501-2bad1b7c65e5";

fn write(place: &Place, number: usize, log: &str) {
    let id = log.split_once("\"id\":\"").unwrap().1.split_once('"').unwrap().0;
    let path = format!(".codex/sessions/2026/11/16/rollout-2026-11-16T10-48-2{number}-{id}.jsonl");
    place.file(&path, log.as_bytes());
}

fn prompts(place: &Place) -> Vec<String> {
    let (library, _) = place.current();
    let Transcript::Events(events) = library.transcript(&library.session(LAST).unwrap()).unwrap() else {
        panic!("no events")
    };
    assert!(events.iter().all(|event| *event.session == *LAST), "all are of the session that is shown");
    events.iter().filter_map(prompt).collect()
}

fn prompt(event: &Event) -> Option<String> {
    let Body::ItemCompleted(item) = &event.body else { return None };
    let Details::UserMessage(message) = &item.details else { return None };
    (!message.synthetic).then(|| message.joined())
}

#[test]
fn what_was_said_before_a_fork_is_part_of_it_and_counted_once() {
    let place = Place::new();
    let own = |log: usize| {
        let place = Place::new();
        write(&place, log, LOGS[log]);
        ledger(&place.current().0).entries.len()
    };
    let each: usize = (0..LOGS.len()).map(own).sum();
    (0..LOGS.len()).for_each(|log| write(&place, log, LOGS[log]));
    let all = prompts(&place);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(ledger(&place.current().0).entries.len(), each);
}

#[test]
fn what_was_said_after_a_fork_is_no_part_of_it() {
    let place = Place::new();
    let second_turn = LOGS[0].match_indices('\n').nth(13).unwrap().0;
    let early = LOGS[1].replace("\"end_byte_offset\":45791", &format!("\"end_byte_offset\":{second_turn}"));
    [LOGS[0], early.as_str(), LOGS[2]].into_iter().enumerate().for_each(|(number, log)| write(&place, number, log));
    assert_eq!(prompts(&place).len(), 3);
}

#[test]
fn replies_that_a_fork_copied_are_those_of_the_session_that_it_copied() {
    for seed in 1..9 {
        let (place, truth) = Place::with(|corpus| claude::session(corpus, claude::Case::Forked, seed, 60_000));
        assert_eq!(by_session(&ledger(&place.current().0)), truth.sessions, "seed {seed}");
    }
}

#[test]
fn without_what_was_before_there_is_what_came_after() {
    let place = Place::new();
    write(&place, 2, LOGS[2]);
    assert_eq!(prompts(&place).len(), 1);
}
