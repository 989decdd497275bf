//! Broken and unusual records: the rest of the log is read exactly, and errors are reported.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use switchboard_agents::ScanDepth;
use switchboard_testkit::corpus::{
    CorpusTruth,
    agents::{claude, codex, gemini, opencode},
    files::{CorpusWriter, insert_junk, junk_lines},
};

use super::counting::assert_same_rows;
use crate::fixture::{
    LibraryFixture, full_ledger, hit_sessions, refresh_all, take_snapshot, tokens_by, tokens_by_session,
};

/// Writes sessions of all agents with JSONL logs.
fn write_sessions(corpus: &mut CorpusWriter) -> anyhow::Result<()> {
    claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000)?;
    codex::write_session(corpus, codex::CountingCase::Totals, 2, 60_000)?;
    codex::write_session(corpus, codex::CountingCase::Records, 3, 60_000)?;
    gemini::write_session(corpus, gemini::CountingCase::Plain, 4, 60_000)
}

fn find_jsonl_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(find_jsonl_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
    found
}

/// Writes the sessions and modifies every log.
fn home_with_changed_logs(change: impl Fn(&[u8]) -> Vec<u8>) -> (LibraryFixture, CorpusTruth) {
    let (place, truth) = LibraryFixture::with_logs(write_sessions);
    for path in find_jsonl_files(&place.home_dir()) {
        let log = fs::read(&path).unwrap();
        fs::write(&path, change(&log)).unwrap();
    }
    (place, truth)
}

#[track_caller]
fn assert_matches_truth(place: &LibraryFixture, truth: &CorpusTruth) {
    let (library, _) = place.refreshed_library();
    assert_same_rows("sessions", &tokens_by_session(&full_ledger(&library)), &truth.sessions);
    for needle in &truth.rare {
        assert!(!hit_sessions(&library, &needle.word, 5).is_empty(), "{needle:?} is not found");
    }
}

#[test]
fn between_bad_lines_everything_is_read() {
    let (place, truth) = home_with_changed_logs(insert_junk);
    assert_matches_truth(&place, &truth);
}

#[test]
fn every_bad_line_is_told_of() {
    for junk in junk_lines().into_iter().filter(|junk| junk.is_bad) {
        let (place, truth) = home_with_changed_logs(|log| [log, &junk.bytes, b"\n", log].concat());
        let (library, report) = place.refreshed_library();
        assert!(report.troubles >= 4, "{}: {report:?}", junk.name);
        let troubles = library.read_errors().unwrap();
        for path in find_jsonl_files(&place.home_dir()) {
            let told: Vec<_> = troubles.iter().filter(|trouble| trouble.path == path.canonicalize().unwrap()).collect();
            let where_it_is = fs::metadata(&path).unwrap().len() / 2 - junk.bytes.len() as u64 / 2;
            let near = |offset: u64| offset.abs_diff(where_it_is) < 3;
            assert!(
                told.iter().any(|trouble| trouble.offset.is_some_and(near)),
                "{} in {}: {told:?}",
                junk.name,
                path.display()
            );
        }
        // Both halves are the same log, and each of its replies counts once.
        let used = tokens_by_session(&full_ledger(&library));
        assert_eq!(used.keys().collect::<Vec<_>>(), truth.sessions.keys().collect::<Vec<_>>());
    }
}

/// Checks that logs are exact whether they are scanned for tokens first, as `usage` does, or completely.
#[track_caller]
fn assert_matches_at_both_depths(place: &LibraryFixture, truth: &CorpusTruth) {
    let library = place.open_library();
    library.refresh_index(ScanDepth::Tokens, &|_| {}).unwrap();
    assert_same_rows("tokens by session", &tokens_by_session(&full_ledger(&library)), &truth.sessions);
    assert_matches_truth(place, truth);
}

#[test]
fn records_that_share_a_line_are_read() {
    let joined = |log: &[u8]| {
        let lines = log.split_inclusive(|byte| *byte == b'\n').enumerate();
        lines.flat_map(|(number, line)| if number % 3 == 2 { line } else { line.trim_ascii_end() }.to_vec()).collect()
    };
    let (place, truth) = home_with_changed_logs(joined);
    assert_matches_at_both_depths(&place, &truth);
    assert_eq!(place.open_library().read_errors().unwrap().len(), 0);
}

#[test]
fn a_record_behind_a_torn_one_is_read() {
    let torn = |log: &[u8]| {
        let lines = log.split_inclusive(|byte| *byte == b'\n').enumerate();
        lines.flat_map(|(number, line)| [&line[..1 + number * 37 % (line.len() - 1)], line].concat()).collect()
    };
    let (place, truth) = home_with_changed_logs(torn);
    assert_matches_at_both_depths(&place, &truth);
}

#[test]
fn a_line_that_another_process_goes_on_with_is_read_as_it_grows() {
    let (place, truth) = LibraryFixture::with_logs(write_sessions);
    let grown = LibraryFixture::new();
    for step in 1..=3 {
        for path in find_jsonl_files(&place.home_dir()) {
            let log = fs::read(&path).unwrap();
            let name = path.strip_prefix(place.home_dir()).unwrap().to_str().unwrap().to_owned();
            let cut = log.len() / 2;
            let whole_lines = &log[..memchr::memrchr(b'\n', &log[..cut]).map_or(0, |end| end + 1)];
            let bytes = match step {
                1 => log[..cut].to_vec(),
                // The process that died had written the last record, but not its line ending.
                2 => [&log[..cut], &log[whole_lines.len()..log.len() - 1]].concat(),
                _ => [&log[..cut], &log[whole_lines.len()..]].concat(),
            };
            grown.write_file(&name, &bytes);
        }
        grown.refreshed_library();
    }
    assert_matches_truth(&grown, &truth);
    assert_eq!(take_snapshot(&grown.open_library()), grown.fresh_snapshot());
}

#[test]
fn spaced_json_is_json() {
    let spaced = |log: &[u8]| {
        let values = serde_json::Deserializer::from_slice(log).into_iter::<Value>();
        let line = |value: Value| serde_json::to_string_pretty(&value).unwrap().replace('\n', "  ") + " \n";
        values.map(|value| line(value.unwrap())).collect::<String>().into_bytes()
    };
    let (place, truth) = home_with_changed_logs(spaced);
    assert_matches_truth(&place, &truth);
}

#[test]
fn lines_of_other_systems_are_lines() {
    let crlf = |log: &[u8]| String::from_utf8_lossy(log).replace('\n', "\r\n").into_bytes();
    let (place, truth) = home_with_changed_logs(|log| [b"\xef\xbb\xbf", crlf(log).as_slice()].concat());
    assert_matches_truth(&place, &truth);
}

#[test]
fn a_record_behind_zeros_is_a_record() {
    // A file that grew before a power failure and was then written to.
    let padded = |log: &[u8]| {
        log.split_inclusive(|byte| *byte == b'\n').flat_map(|line| [vec![0; 64], line.to_vec()].concat()).collect()
    };
    let (place, truth) = home_with_changed_logs(padded);
    assert_matches_truth(&place, &truth);
}

#[test]
fn a_line_of_100_megabytes_is_one_line() {
    // A pasted image.
    let source = json!({"type": "base64", "media_type": "image/png", "data": "A".repeat(100_000_000)});
    let record = json!({"type": "user", "timestamp": "2026-10-21T10:00:00.000Z", "message": {"role": "user", "content": [{"type": "image", "source": source}]}});
    let record = format!("{record}\n");
    let (place, truth) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 20_000));
    let path = find_jsonl_files(&place.home_dir()).remove(0);
    let log = fs::read(&path).unwrap();
    let middle = memchr::memchr_iter(b'\n', &log).nth(3).unwrap() + 1;
    fs::write(&path, [&log[..middle], record.as_bytes(), &log[middle..]].concat()).unwrap();
    assert_matches_truth(&place, &truth);
}

#[test]
fn nothing_where_a_number_was_is_nothing_used() {
    let place = LibraryFixture::new();
    let usage = json!({"input_tokens": null, "output_tokens": 7, "cache_read_input_tokens": null, "cache_creation_input_tokens": 5, "cache_creation": null});
    let record = json!({"type": "assistant", "timestamp": "2026-10-21T10:00:00.000Z", "sessionId": "s", "cwd": "/x", "requestId": null,
        "message": {"id": "msg_1", "model": "m", "role": "assistant", "content": [], "usage": usage}});
    place.write_file(".claude/projects/-x/s.jsonl", format!("{record}\n").as_bytes());
    let total = json!({"input_tokens": 10, "cached_input_tokens": null, "output_tokens": 7, "reasoning_output_tokens": null, "total_tokens": null});
    let info = json!({"total_token_usage": total, "last_token_usage": null, "model_context_window": null});
    let lines = [
        json!({"timestamp": "2026-10-21T10:00:00.000Z", "type": "session_meta", "payload": {"id": "t", "cwd": "/x", "git": null}}),
        json!({"timestamp": "2026-10-21T10:00:01.000Z", "type": "event_msg", "payload": {"type": "token_count", "info": info, "rate_limits": null}}),
    ];
    let name = ".codex/sessions/2026/10/21/rollout-2026-10-21T10-00-00-11111111-1111-4111-a111-111111111111.jsonl";
    place.write_file(name, lines.map(|line| format!("{line}\n")).concat().as_bytes());
    let (library, _) = place.refreshed_library();
    let used = tokens_by(&full_ledger(&library), |ledger, entry| ledger.resolve_name(entry.agent).to_owned());
    assert_eq!((used["claude"].total_tokens(), used["claude"].output, used["claude"].cache_write), (12, 7, 5));
    assert_eq!((used["codex"].total_tokens(), used["codex"].input, used["codex"].output), (17, 10, 7));
}

#[test]
fn more_tokens_than_32_bits_can_count_are_counted() {
    let many = 7_000_000_000_u64;
    let (place, truth) = LibraryFixture::with_logs(|corpus| {
        claude::write_session(corpus, claude::CountingCase::Repeated, 1, 10_000)?;
        codex::write_session(corpus, codex::CountingCase::Totals, 2, 10_000)
    });
    let usage = json!({"input_tokens": many, "output_tokens": many, "cache_read_input_tokens": many, "cache_creation_input_tokens": 0});
    let record = json!({"type": "assistant", "timestamp": "2026-10-21T10:00:00.000Z", "sessionId": "big", "cwd": "/x", "requestId": "req_1",
        "message": {"id": "msg_1", "model": "m", "role": "assistant", "content": [], "usage": usage}});
    place.write_file(".claude/projects/-x/big.jsonl", format!("{record}\n").as_bytes());
    let (library, _) = place.refreshed_library();
    let used = tokens_by(&full_ledger(&library), |ledger, entry| ledger.resolve_name(entry.agent).to_owned());
    assert_eq!(used["claude"].total_tokens(), truth.agents["claude"].total_tokens() + 3 * many);
}

#[test]
fn broken_files_of_other_forms_are_told_of_and_harm_no_others() {
    let (place, truth) = LibraryFixture::with_logs(|corpus| {
        write_sessions(corpus)?;
        opencode::write_sessions(
            corpus,
            [(opencode::CountingCase::Plain, 1, 30_000), (opencode::CountingCase::Tree, 2, 9_000)],
        )
    });
    let broken = [
        place.write_file(
            ".codex/sessions/2026/10/21/rollout-2026-10-21T10-00-00-22222222-2222-4222-a222-222222222222.jsonl.zst",
            b"(\xb5/\xfd\x04 not a frame",
        ),
        place.write_file(
            ".local/share/opencode/opencode-broken.db",
            b"SQLite format 3\0 and then nothing that makes sense",
        ),
        place.write_file(
            ".gemini/tmp/home-dev-x/chats/session-2026-10-21T10-00-abcdabcd.json",
            br#"{"sessionId":"abcdabcd","messages":[{"id":"1","ty"#,
        ),
    ];
    let database = rusqlite::Connection::open(place.home_dir().join(".local/share/opencode/opencode.db")).unwrap();
    database
        .execute("INSERT INTO message SELECT 'msg_bad', session_id, 1, 1, '{\"role\":\"assis' FROM message LIMIT 1", [])
        .unwrap();
    drop(database);
    let (library, _) = place.refreshed_library();
    assert_eq!(tokens_by_session(&full_ledger(&library)), truth.sessions);
    let troubles = library.read_errors().unwrap();
    for path in broken {
        let path = path.canonicalize().unwrap();
        assert!(troubles.iter().any(|trouble| trouble.path == path), "{}: {troubles:?}", path.display());
    }
    refresh_all(&library);
    assert_eq!(tokens_by_session(&full_ledger(&library)), truth.sessions);
}

#[test]
fn more_tokens_than_there_can_be_drown_no_others() {
    let (place, truth) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 60_000));
    let record = json!({"type": "assistant", "sessionId": "x", "uuid": "x", "requestId": "x",
        "timestamp": "2026-11-16T10:00:00.000Z", "cwd": "/home/dev/project", "message": {"id": "x", "role": "assistant",
        "model": "m", "content": [], "usage": {"input_tokens": 9_223_372_036_854_775_808_u64, "output_tokens": 1}}});
    place.write_file(".claude/projects/-home-dev-project/x.jsonl", format!("{record}\n").as_bytes());
    let (library, _) = place.refreshed_library();
    assert_same_rows("sessions", &tokens_by_session(&full_ledger(&library)), &truth.sessions);
    assert!(library.read_errors().unwrap().iter().any(|trouble| trouble.what.contains("tokens")));
}
