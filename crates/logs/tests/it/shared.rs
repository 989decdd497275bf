//! Shared documents: they count for sessions without a log of their own.

use std::fs;

use switchboard_agents::ScanDepth;
use switchboard_logs::{LogFilter, Transcript};

use crate::place::{LibraryFixture, hit_sessions, refresh_all, take_snapshot};

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
