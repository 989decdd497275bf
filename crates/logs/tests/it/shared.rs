//! Documents that several sessions share: they count for sessions that have no log of their own.

use std::fs;

use switchboard_agents::Depth;
use switchboard_logs::{Filter, Transcript};

use crate::place::{Place, hits, refresh, said};

const ALONE: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const BOTH: &str = "bbbbbbbb-1111-4111-8111-111111111111";

fn prompt(session: &str, number: u32, text: &str) -> String {
    format!(
        r#"{{"sessionId":"{session}","messageId":{number},"type":"user","message":"{text}","timestamp":"2026-11-0{}T10:00:00.000Z"}}"#,
        number + 1
    )
}

fn ids(place: &Place) -> Vec<String> {
    place.library().sessions(&Filter::default()).unwrap().into_iter().map(|session| session.id).collect()
}

#[test]
fn prompts_that_only_a_shared_document_has_are_found() {
    let place = Place::new();
    let prompts = [prompt(ALONE, 0, "quixotic"), prompt(BOTH, 0, "zephyr"), prompt(ALONE, 1, "gossamer")];
    place.file(".gemini/tmp/p/logs.json", format!("[{}]", prompts.join(",\n")).as_bytes());
    place.file(".gemini/tmp/p/.project_root", b"/srv/p\n");
    let message = r#"{"id":"m1","timestamp":"2026-11-01T10:00:00.000Z","type":"user","content":"zephyr"}"#;
    let header = format!(r#"{{"sessionId":"{BOTH}","projectHash":"h","startTime":"2026-11-01T10:00:00.000Z"}}"#);
    let chat = format!("{header}\n{message}\n");
    let chat = place.file(".gemini/tmp/p/chats/session-2026-11-01T10-00-bbbbbbbb.jsonl", chat.as_bytes());
    place.library().refresh(Depth::Tokens, &|_| {}).unwrap();
    assert_eq!(ids(&place), [ALONE, BOTH], "the latest first");
    let (library, report) = place.current();
    assert_eq!(report.troubles, 0, "{report:?}");
    for (word, session) in [("quixotic", ALONE), ("gossamer", ALONE), ("zephyr", BOTH)] {
        assert_eq!(hits(&library, word, 5), [session], "{word}");
    }
    let alone = library.session(ALONE).unwrap();
    assert_eq!((alone.facts.prompts, alone.facts.prompt.as_deref()), (2, Some("quixotic")));
    assert_eq!(alone.facts.cwd.as_deref(), Some("/srv/p"));
    let Transcript::Events(events) = library.transcript(&library.session(BOTH).unwrap()).unwrap() else { panic!() };
    assert!(!format!("{events:?}").contains("quixotic"));
    let Transcript::Events(events) = library.transcript(&alone).unwrap() else { panic!() };
    assert!(!format!("{events:?}").contains("zephyr"));
    // Only what is new is read.
    let more = [&prompts[..], &[prompt(ALONE, 2, "palimpsest")]].concat();
    place.file(".gemini/tmp/p/logs.json", format!("[{}]", more.join(",\n")).as_bytes());
    assert_eq!(refresh(&library).read, 1);
    assert_eq!(hits(&library, "palimpsest", 5), [ALONE]);
    assert_eq!(said(&library), place.afresh());
    // What is kept of a chat goes before the document.
    fs::remove_file(chat).unwrap();
    refresh(&library);
    assert_eq!(hits(&library, "zephyr", 5), [BOTH]);
}
