//! The session logs of agents over HTTP: sessions, their messages, usage and search, compared with the truth of the
//! corpus.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_agents::LOGS;
use switchboard_testkit::corpus::{CorpusOptions, CorpusTruth, write_corpus};

use crate::rig::Rig;

/// A server on a machine with session logs.
pub fn rig() -> (Rig, CorpusTruth) {
    let folder = tempfile::tempdir().unwrap();
    let truth = write_corpus(folder.path(), &small(6)).unwrap();
    (Rig::in_folder(folder), truth)
}

/// Enough for every case.
fn small(seed: u64) -> CorpusOptions {
    CorpusOptions { bytes: 300_000, words: 2_000, ..CorpusOptions::small(seed) }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[tokio::test]
async fn what_was_used_is_the_truth() {
    let (rig, truth) = rig();
    for agent in LOGS.iter().map(|logs| logs.agent) {
        let Some(known) = truth.agents.get(agent) else { continue };
        let used = rig.get(&format!("/api/usage?by=day&agent={agent}&timezone=UTC")).await;
        assert_eq!(used.status, 200, "{used:?}");
        let total = &used.body["total"];
        let figures = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]
            .map(|name| total[name].as_u64().unwrap());
        assert_eq!(figures.iter().sum::<u64>(), known.total_tokens(), "{agent}: {total}");
        let rows = used.body["rows"].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| row["totalTokens"].as_u64().unwrap()).sum();
        assert_eq!(sum, known.total_tokens(), "the days of {agent}");
    }
    let table = rig.get("/api/usage?by=model&format=csv").await;
    let lines: Vec<_> = table.body.as_str().unwrap().lines().collect();
    assert!(lines[0].starts_with("key,inputTokens,") && lines.len() > 2, "{table:?}");
    assert_eq!(rig.get("/api/usage?format=pdf").await.code(), "bad_field");
    let by_model = rig.get("/api/usage?by=model&limit=1&order=tokens").await;
    assert_eq!(by_model.body["rows"].as_array().unwrap().len(), 1, "{by_model:?}");
}

#[tokio::test]
async fn pages_of_sessions_are_all_of_them_each_once() {
    let (rig, _) = rig();
    let all = rig.get("/api/logs?limit=500").await;
    let all: Vec<_> = all.body["sessions"].as_array().unwrap().iter().map(|it| text(it, "id").to_owned()).collect();
    assert!(all.len() > 10 && all.iter().collect::<BTreeSet<_>>().len() == all.len());
    let (mut paged, mut next) = (Vec::new(), Some(String::new()));
    while let Some(before) = next {
        let before = if before.is_empty() { before } else { format!("&before={before}") };
        let page = rig.get(&format!("/api/logs?limit=7{before}")).await;
        paged.extend(page.body["sessions"].as_array().unwrap().iter().map(|it| text(it, "id").to_owned()));
        next = page.body["next"].as_str().map(str::to_owned);
    }
    assert_eq!(paged, all);
}

#[tokio::test]
async fn a_session_is_looked_at_and_read_in_any_dialect() {
    let (rig, _) = rig();
    let last = rig.get("/api/logs/last").await;
    let id = text(&last.body, "id").to_owned();
    let by_beginning = rig.get(&format!("/api/logs/{}", id.get(..id.len() - 2).unwrap())).await;
    assert_eq!(by_beginning.body, last.body);
    let (mut messages, mut offset) = (Vec::new(), Some(0));
    while let Some(at) = offset {
        let page = rig.get(&format!("/api/logs/{id}/events?offset={at}&limit=5")).await;
        assert_eq!(page.status, 200, "{page:?}");
        messages.extend(page.body["events"].as_array().unwrap().iter().cloned());
        offset = page.body["nextOffset"].as_u64();
    }
    assert!(messages.iter().any(|message| message["event_type"] == "user_message"), "{messages:?}");
    assert!(messages.iter().all(|message| message["session_id"] == *id), "{messages:?}");
    let whole = rig.get(&format!("/api/logs/{id}/events?limit=10000")).await;
    assert_eq!(whole.body["events"].as_array().unwrap(), &messages);
    let unified = rig.get(&format!("/api/logs/{id}/events?dialect=unified")).await;
    assert_eq!(unified.body["events"][0]["type"], "sessionStarted", "{unified:?}");
}

#[tokio::test]
async fn a_session_of_the_logs_can_be_continued_by_its_whole_id() {
    let (rig, _) = rig();
    let last = rig.get("/api/logs/last").await;
    let (id, agent) = (text(&last.body, "id").to_owned(), text(&last.body, "agent"));
    // The directory is made up, and no agent is installed, which is the error to expect.
    let given = serde_json::json!({ "sessionId": id, "prompt": "go on" });
    let answer = rig.post("/api/sessions", given).await;
    assert_eq!((answer.status, answer.code()), (409, "bad_folder"), "{answer:?}");
    let config = serde_json::json!({ "workingDirectory": rig.folder.path() });
    let given = serde_json::json!({ "sessionId": id, "prompt": "go on", "config": config });
    let answer = rig.post("/api/sessions", given).await;
    assert_eq!((answer.status, answer.code()), (409, "not_installed"), "{answer:?}");
    let given = serde_json::json!({ "sessionId": id, "agentType": "echo", "prompt": "go on" });
    let answer = rig.post("/api/sessions", given).await;
    assert_eq!((answer.status, answer.code()), (409, "other_agent"), "{agent}: {answer:?}");
    let given = serde_json::json!({ "sessionId": id.get(..id.len() - 2), "prompt": "go on" });
    assert_eq!(rig.post("/api/sessions", given).await.code(), "no_session");
}

#[tokio::test]
async fn what_was_said_is_found() {
    let (rig, truth) = rig();
    let knows = |agent: &str| LOGS.iter().any(|logs| logs.agent == agent);
    let needle = truth.rare.iter().find(|needle| knows(&needle.agent)).unwrap();
    let found = rig.get(&format!("/api/search?q={}", needle.word)).await;
    assert_eq!(found.status, 200, "{found:?}");
    let hit = &found.body["hits"][0];
    assert_eq!((text(hit, "session"), text(hit, "agent")), (&*needle.session, &*needle.agent), "{found:?}");
    assert!(text(hit, "snippet").contains(&needle.word), "{hit}");
    let elsewhere = rig.get(&format!("/api/search?q={}&project=nowhere-at-all", needle.word)).await;
    assert_eq!(elsewhere.body["hits"], serde_json::json!([]));
    let (begin, end) = needle.word.split_at(needle.word.len() - 1);
    let regex = rig.get(&format!("/api/search?regex=true&q={begin}[{end}]")).await;
    assert_eq!(text(&regex.body["hits"][0], "session"), needle.session, "{regex:?}");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let rig = Rig::new();
    for (path, status, code) in [
        ("/api/logs/nobody", 404, "no_session"),
        ("/api/logs/nobody/events", 404, "no_session"),
        ("/api/logs/x/events?dialect=nonsense", 400, "unknown_dialect"),
        ("/api/logs?since=whenever", 400, "bad_field"),
        ("/api/logs?limit=0", 400, "bad_field"),
        ("/api/logs?before=what", 400, "bad_field"),
        ("/api/logs?agent=nobody", 400, "bad_field"),
        ("/api/usage?by=moon", 400, "bad_field"),
        ("/api/usage?timezone=Moon/Base", 400, "bad_field"),
        ("/api/search?q=", 400, "bad_field"),
        ("/api/search", 400, "bad_query"),
        ("/api/search?q=(&regex=true", 400, "bad_regex"),
    ] {
        let answer = rig.get(path).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{path}: {answer:?}");
    }
    let nothing = rig.get("/api/usage").await;
    assert_eq!((nothing.status, &nothing.body["rows"]), (200, &serde_json::json!([])));
}

#[tokio::test]
async fn a_session_that_is_written_later_is_seen() {
    let (rig, _) = rig();
    let before = rig.get("/api/logs?limit=500").await.body["sessions"].as_array().unwrap().len();
    let (seed, folder) = (7, tempfile::tempdir().unwrap());
    write_corpus(folder.path(), &small(seed)).unwrap();
    copy(&folder.path().join("home"), &rig.folder.path().join("home"));
    // The index is refreshed in the background, so a change appears a moment later.
    let waiting = async {
        while rig.get("/api/logs?limit=500").await.body["sessions"].as_array().unwrap().len() == before {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), waiting).await.expect("it is never seen");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if !target.exists() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
