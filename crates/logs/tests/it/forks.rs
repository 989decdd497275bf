//! Forks that only reference the earlier part of their session.

use switchboard_event::{Details, Event, EventBody};
use switchboard_logs::Transcript;

use switchboard_testkit::corpus::agents::claude;

use crate::place::{LibraryFixture, full_ledger, tokens_by_session};

const FORKED_LOGS: [&str; 3] = [
    include_str!("../../../agents/src/codex/testdata/log/forked-paged-1.jsonl"),
    include_str!("../../../agents/src/codex/testdata/log/forked-paged-2.jsonl"),
    include_str!("../../../agents/src/codex/testdata/log/forked-paged-3.jsonl"),
];

const LAST_FORK_ID: &str = "01a1e3f8-f1f5-73e3-b501-2bad1b7c65e5";

fn write_log(place: &LibraryFixture, number: usize, log: &str) {
    let id = log.split_once("\"id\":\"").unwrap().1.split_once('"').unwrap().0;
    let path = format!(".codex/sessions/2026/11/16/rollout-2026-11-16T10-48-2{number}-{id}.jsonl");
    place.write_file(&path, log.as_bytes());
}

fn transcript_prompts(place: &LibraryFixture) -> Vec<String> {
    let (library, _) = place.refreshed_library();
    let Transcript::Events(events) = library.read_transcript(&library.find_session(LAST_FORK_ID).unwrap()).unwrap()
    else {
        panic!("no events")
    };
    assert!(events.iter().all(|event| *event.session == *LAST_FORK_ID), "all are of the session that is shown");
    events.iter().filter_map(user_prompt).collect()
}

fn user_prompt(event: &Event) -> Option<String> {
    let EventBody::ItemCompleted(item) = &event.body else { return None };
    let Details::UserMessage(message) = &item.details else { return None };
    (!message.synthetic).then(|| message.joined_text())
}

#[test]
fn what_was_said_before_a_fork_is_part_of_it_and_counted_once() {
    let place = LibraryFixture::new();
    let own = |log: usize| {
        let place = LibraryFixture::new();
        write_log(&place, log, FORKED_LOGS[log]);
        full_ledger(&place.refreshed_library().0).entries.len()
    };
    let each: usize = (0..FORKED_LOGS.len()).map(own).sum();
    (0..FORKED_LOGS.len()).for_each(|log| write_log(&place, log, FORKED_LOGS[log]));
    let all = transcript_prompts(&place);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(full_ledger(&place.refreshed_library().0).entries.len(), each);
}

#[test]
fn what_was_said_after_a_fork_is_no_part_of_it() {
    let place = LibraryFixture::new();
    let second_turn = FORKED_LOGS[0].match_indices('\n').nth(13).unwrap().0;
    let early = FORKED_LOGS[1].replace("\"end_byte_offset\":45791", &format!("\"end_byte_offset\":{second_turn}"));
    [FORKED_LOGS[0], early.as_str(), FORKED_LOGS[2]]
        .into_iter()
        .enumerate()
        .for_each(|(number, log)| write_log(&place, number, log));
    assert_eq!(transcript_prompts(&place).len(), 3);
}

#[test]
fn replies_that_a_fork_copied_are_those_of_the_session_that_it_copied() {
    for seed in 1..9 {
        let (place, truth) = LibraryFixture::with_logs(|corpus| {
            claude::write_session(corpus, claude::CountingCase::Forked, seed, 60_000)
        });
        assert_eq!(tokens_by_session(&full_ledger(&place.refreshed_library().0)), truth.sessions, "seed {seed}");
    }
}

#[test]
fn without_what_was_before_there_is_what_came_after() {
    let place = LibraryFixture::new();
    write_log(&place, 2, FORKED_LOGS[2]);
    assert_eq!(transcript_prompts(&place).len(), 1);
}
