//! Copies of raw records: a session can be read completely after its log was deleted.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    sync::Once,
    thread,
};

use serde_json::json;
use switchboard_agents::ScanDepth;
use switchboard_event::{Details, Event, EventBody};
use switchboard_logs::{LibraryConfig, LogFilter, LogLibrary, LogsError, Transcript, candidate_homes};
use switchboard_testkit::corpus::{CorpusOptions, agents::claude};

use super::{
    fixture::{
        EmptyHost, LibraryFixture, full_ledger, hit_sessions, open_library, refresh_all, take_snapshot,
        tokens_by_session,
    },
    growing::{list_jsonl_files, single_path},
};

fn library_with_copies(place: &LibraryFixture, keep: bool) -> LogLibrary {
    let homes = candidate_homes(&EmptyHost, &[place.home_dir()], None);
    let library =
        LogLibrary::open(LibraryConfig { data: place.data_dir(), homes, alone: false, keep, own: None }).unwrap();
    library.refresh_index(ScanDepth::All, &|_| {}).unwrap();
    library
}

#[test]
fn what_is_kept_is_whole_also_if_it_was_read_before_and_grew_after() {
    let (place, _) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000));
    drop(library_with_copies(&place, false));
    drop(library_with_copies(&place, true));
    let path = single_path(list_jsonl_files(&place.home_dir()));
    let line = fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
    writeln!(OpenOptions::new().append(true).open(&path).unwrap(), "{line}").unwrap();
    let library = library_with_copies(&place, false);
    let session = library.find_session("last").unwrap();
    let Transcript::Events(before) = library.read_transcript(&session).unwrap() else { panic!("no events") };
    fs::remove_file(&path).unwrap();
    let library = library_with_copies(&place, false);
    let session = library.find_session("last").unwrap();
    assert!(session.gone);
    let Transcript::Events(after) = library.read_transcript(&session).unwrap() else { panic!("no copies") };
    assert_eq!(after.len(), before.len());
}

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
    transcript_prompts_of(&place.refreshed_library().0, LAST_FORK_ID)
}

fn transcript_prompts_of(library: &LogLibrary, session: &str) -> Vec<String> {
    let Transcript::Events(events) = library.read_transcript(&library.find_session(session).unwrap()).unwrap() else {
        panic!("no events")
    };
    assert!(events.iter().all(|event| *event.session == *session), "all are of the session that is shown");
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

const DOCUMENT_ONLY_SESSION: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const LOGGED_SESSION: &str = "bbbbbbbb-1111-4111-8111-111111111111";

fn prompt_record(session: &str, number: u32, text: &str) -> String {
    format!(
        r#"{{"sessionId":"{session}","messageId":{number},"type":"user","message":"{text}","timestamp":"2026-11-0{}T10:00:00.000Z"}}"#,
        number + 1
    )
}

fn session_ids(place: &LibraryFixture) -> Vec<String> {
    place.open_library().list_sessions(&LogFilter::default()).unwrap().into_iter().map(|session| session.id).collect()
}

#[test]
fn prompts_that_only_a_shared_document_has_are_found() {
    let place = LibraryFixture::new();
    let prompts = [
        prompt_record(DOCUMENT_ONLY_SESSION, 0, "quixotic"),
        prompt_record(LOGGED_SESSION, 0, "zephyr"),
        prompt_record(DOCUMENT_ONLY_SESSION, 1, "gossamer"),
    ];
    place.write_file(".gemini/tmp/p/logs.json", format!("[{}]", prompts.join(",\n")).as_bytes());
    place.write_file(".gemini/tmp/p/.project_root", b"/srv/p\n");
    let message = r#"{"id":"m1","timestamp":"2026-11-01T10:00:00.000Z","type":"user","content":"zephyr"}"#;
    let header =
        format!(r#"{{"sessionId":"{LOGGED_SESSION}","projectHash":"h","startTime":"2026-11-01T10:00:00.000Z"}}"#);
    let chat = format!("{header}\n{message}\n");
    let chat = place.write_file(".gemini/tmp/p/chats/session-2026-11-01T10-00-bbbbbbbb.jsonl", chat.as_bytes());
    place.open_library().refresh_index(ScanDepth::Tokens, &|_| {}).unwrap();
    assert_eq!(session_ids(&place), [DOCUMENT_ONLY_SESSION, LOGGED_SESSION], "the latest first");
    let (library, report) = place.refreshed_library();
    assert_eq!(report.troubles, 0, "{report:?}");
    for (word, session) in
        [("quixotic", DOCUMENT_ONLY_SESSION), ("gossamer", DOCUMENT_ONLY_SESSION), ("zephyr", LOGGED_SESSION)]
    {
        assert_eq!(hit_sessions(&library, word, 5), [session], "{word}");
    }
    let alone = library.find_session(DOCUMENT_ONLY_SESSION).unwrap();
    assert_eq!((alone.facts.prompts, alone.facts.prompt.as_deref()), (2, Some("quixotic")));
    assert_eq!(alone.facts.cwd.as_deref(), Some("/srv/p"));
    let Transcript::Events(events) = library.read_transcript(&library.find_session(LOGGED_SESSION).unwrap()).unwrap()
    else {
        panic!()
    };
    assert!(!format!("{events:?}").contains("quixotic"));
    let Transcript::Events(events) = library.read_transcript(&alone).unwrap() else { panic!() };
    assert!(!format!("{events:?}").contains("zephyr"));
    // Only new records are read.
    let more = [&prompts[..], &[prompt_record(DOCUMENT_ONLY_SESSION, 2, "palimpsest")]].concat();
    place.write_file(".gemini/tmp/p/logs.json", format!("[{}]", more.join(",\n")).as_bytes());
    assert_eq!(refresh_all(&library).read, 1);
    assert_eq!(hit_sessions(&library, "palimpsest", 5), [DOCUMENT_ONLY_SESSION]);
    assert_eq!(take_snapshot(&library), place.fresh_snapshot());
    // The kept content of a chat takes precedence over the document.
    fs::remove_file(chat).unwrap();
    refresh_all(&library);
    assert_eq!(hit_sessions(&library, "zephyr", 5), [LOGGED_SESSION]);
}

#[test]
fn a_session_that_gets_a_log_of_its_own_is_no_longer_read_from_the_shared_document() {
    let place = LibraryFixture::new();
    let prompts = [prompt_record(DOCUMENT_ONLY_SESSION, 0, "quixotic"), prompt_record(LOGGED_SESSION, 0, "zephyr")];
    place.write_file(".gemini/tmp/p/logs.json", format!("[{}]", prompts.join(",\n")).as_bytes());
    place.write_file(".gemini/tmp/p/.project_root", b"/srv/p\n");
    let (library, _) = place.refreshed_library();
    assert_eq!(hit_sessions(&library, "zephyr", 5), [LOGGED_SESSION]);
    let message = r#"{"id":"m1","timestamp":"2026-11-01T10:00:00.000Z","type":"user","content":"zephyr"}"#;
    let header =
        format!(r#"{{"sessionId":"{LOGGED_SESSION}","projectHash":"h","startTime":"2026-11-01T10:00:00.000Z"}}"#);
    let chat = format!("{header}\n{message}\n");
    place.write_file(".gemini/tmp/p/chats/session-2026-11-01T10-00-bbbbbbbb.jsonl", chat.as_bytes());
    refresh_all(&library);
    assert_eq!(take_snapshot(&library), place.fresh_snapshot());
    assert_eq!(library.find_session(LOGGED_SESSION).unwrap().facts.prompts, 1);
    assert_eq!(transcript_prompts_of(&library, LOGGED_SESSION), ["zephyr"]);
}

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
