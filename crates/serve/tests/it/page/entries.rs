//! The entries of sessions and of session logs, and their parts.

use axum::http::header;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use switchboard_event::{Content, ContentType, EventBody as Happened, Item, UserMessage};

use super::{ask, entries, kinds, written};
use crate::{
    logs::rig,
    rig::{Rig, text},
};

const SCRIPT: &str =
    "think about it\ntext **Hello**, world.\nrun echo hi\nedit src/main.rs\nplan look, act\nsubagent research";

#[tokio::test]
async fn things_are_in_the_order_in_which_they_began() {
    let rig = Rig::new();
    let id = rig.start("script", SCRIPT).await;
    rig.ended(&id).await;
    let entries = entries(&rig, &id).await;
    let found = kinds(&entries);
    let expected = ["session", "turn", "user", "reasoning", "answer", "command", "change", "plan", "subagent"];
    assert_eq!(&found[..expected.len()], expected, "{found:?}");
    assert_eq!(found.last(), Some(&"session"));
    for (n, entry) in entries.iter().enumerate() {
        assert_eq!(entry["n"], n, "{entry}");
        assert!(entry["first"].as_u64() <= entry["last"].as_u64() && entry["live"].is_null(), "{entry}");
    }
    let answer = &entries[4];
    assert_eq!(answer["html"], "<p><strong>Hello</strong>, world.</p>", "{answer}");
    let command = &entries[5];
    assert!(command["html"].as_str().unwrap().contains("pretending to run: echo hi"), "{command}");
    assert!(entries[2]["html"].as_str().unwrap().contains("think about it"), "{}", entries[2]);
    assert_eq!((&entries[1]["status"], &entries[3]["fold"]), (&json!("completed"), &json!(true)));
}

#[tokio::test]
async fn what_a_subagent_does_is_below_it() {
    let rig = Rig::new();
    let id = rig.start("script", SCRIPT).await;
    rig.ended(&id).await;
    let entries = entries(&rig, &id).await;
    let subagent = entries.iter().find(|entry| entry["kind"] == "subagent").unwrap();
    let below: Vec<_> = entries.iter().filter(|entry| entry["parent"] == subagent["n"]).collect();
    assert!(!below.is_empty() && below.iter().all(|entry| entry["depth"] == 1), "{entries:?}");
}

#[tokio::test]
async fn entries_come_in_windows() {
    let rig = Rig::new();
    let script: Vec<String> = (0..100).map(|n| format!("text number {n}")).collect();
    let id = rig.start("script", &script.join("\n")).await;
    rig.ended(&id).await;
    let path = format!("/api/page/sessions/{id}");
    let tail = rig.get(&path).await.body;
    let total = tail["total"].as_u64().unwrap();
    assert!(total >= 103, "{total}");
    let numbers = |body: &Value| -> Vec<u64> {
        body["entries"].as_array().unwrap().iter().map(|entry| entry["n"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&tail), (total - 60..total).collect::<Vec<_>>());
    assert_eq!(tail["from"], total - 60);
    assert_eq!(tail["seq"], tail["session"]["events"]);
    let middle = rig.get(&format!("{path}?from=10&count=7")).await.body;
    assert_eq!(numbers(&middle), (10..17).collect::<Vec<_>>());
    let end = rig.get(&format!("{path}?from={}&count=7", total - 2)).await.body;
    assert_eq!(numbers(&end), (total - 2..total).collect::<Vec<_>>());
    assert_eq!(numbers(&rig.get(&format!("{path}?from=100000")).await.body), Vec::<u64>::new());
    let outline = rig.get(&format!("{path}/outline")).await.body;
    assert_eq!((outline["total"].as_u64().unwrap(), outline["sizes"].as_array().unwrap().len() as u64), (total, total));
    for (path, status) in [
        (format!("{path}?count=0"), 400),
        (format!("{path}?count=301"), 400),
        ("/api/page/sessions/no".to_owned(), 404),
    ] {
        assert_eq!(rig.get(&path).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn a_request_is_where_it_was_asked_and_says_what_became_of_it() {
    let rig = Rig::new();
    let (id, request) = rig.start_asking("approve touch x\ntext after").await;
    let page = rig.get(&format!("/api/page/sessions/{id}")).await.body;
    let asked = page["entries"].as_array().unwrap().iter().find(|entry| entry["kind"] == "request").unwrap();
    assert_eq!((&asked["status"], &asked["request"]["id"]), (&json!("open"), &json!(request)));
    assert_eq!((&asked["request"]["open"], &asked["request"]["about"]), (&json!(true), &json!("command")));
    assert_eq!(asked["request"]["options"][0]["kind"], "allow_once");
    let card = &page["session"];
    assert_eq!(
        (&card["column"], &card["waitingFor"], &card["approvals"]),
        (&json!("waiting"), &json!("Run touch x"), &json!(1))
    );
    rig.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "decline" })).await;
    rig.ended(&id).await;
    let entries = entries(&rig, &id).await;
    let asked = &entries[asked["n"].as_u64().unwrap() as usize];
    assert_eq!((&asked["status"], &asked["request"]["open"]), (&json!("declined"), &json!(false)), "{asked}");
}

#[tokio::test]
async fn what_can_be_chosen_is_said() {
    let rig = Rig::new();
    let id = rig.start("script", "text hi").await;
    rig.ended(&id).await;
    let choices = rig.get(&format!("/api/page/sessions/{id}")).await.body["choices"].clone();
    assert_eq!(choices["models"][0]["id"], "script-1");
    assert_eq!((&choices["modes"][0]["id"], &choices["options"][0]["id"]), (&json!("perform"), &json!("pace")));
    assert_eq!((&choices["model"], &choices["commands"][0]["name"]), (&json!("script-1"), &json!("compact")));
}

#[tokio::test]
async fn every_session_of_every_agent_is_shown() {
    let (rig, _) = rig();
    let all = rig.get("/api/logs?limit=500").await.body;
    for session in all["sessions"].as_array().unwrap() {
        let path = format!("/api/page/logs/{}", session["id"].as_str().unwrap());
        let page = rig.get(&format!("{path}?from=0&count=300")).await;
        assert_eq!(page.status, 200, "{session}: {page:?}");
        let entries = page.body["entries"].as_array().unwrap();
        let total = page.body["total"].as_u64().unwrap();
        assert_eq!(entries.len() as u64, total.min(300), "{session}");
        assert!(kinds(entries).iter().any(|kind| ["user", "answer"].contains(kind)), "{session}: {:?}", kinds(entries));
        assert_eq!(page.body["session"]["id"], session["id"]);
        let sizes = rig.get(&format!("{path}/outline")).await.body["sizes"].as_array().unwrap().len() as u64;
        assert_eq!(sizes, total, "{session}");
    }
}

#[tokio::test]
async fn an_entry_of_a_log_has_its_records_and_its_text() {
    let (rig, _) = rig();
    let all = rig.get("/api/logs?limit=1").await.body;
    let path = format!("/api/page/logs/{}", all["sessions"][0]["id"].as_str().unwrap());
    let page = rig.get(&path).await.body;
    let entries = page["entries"].as_array().unwrap();
    let answer = entries.iter().rfind(|entry| entry["kind"] == "answer").unwrap();
    let raw: Value =
        serde_json::from_str(&text(&rig.service, &format!("{path}/entries/{}/raw", answer["n"])).await).unwrap();
    let events = raw["events"].as_array().unwrap();
    assert!(events.iter().any(|event| !event["native"].is_null()), "{raw}");
    let said = text(&rig.service, &format!("{path}/entries/{}/text", answer["n"])).await;
    assert!(!said.is_empty() && events.iter().any(|event| event["data"]["item"]["text"] == said), "{said}");
    assert_eq!(rig.get(&format!("{path}/entries/99999/raw")).await.status, 404);
    assert_eq!(rig.get(&format!("{path}/media/1/0")).await.status, 404);
    assert_eq!(rig.get("/api/page/logs/nobody").await.status, 404);
}

#[tokio::test]
async fn the_events_of_an_entry_are_given_as_they_are() {
    let rig = Rig::new();
    let id = rig.start("script", "text one two three\nrun echo hi").await;
    rig.ended(&id).await;
    let log: Vec<Value> = rig.get(&format!("/api/sessions/{id}/events?dialect=events&limit=1000")).await.body["events"]
        .as_array()
        .unwrap()
        .clone();
    for entry in entries(&rig, &id).await {
        let raw = text(&rig.service, &format!("/api/page/sessions/{id}/entries/{}/raw", entry["n"])).await;
        let raw: Value = serde_json::from_str(&raw).unwrap();
        let events = raw["events"].as_array().unwrap();
        assert!(raw["next"].is_null() && !events.is_empty(), "{raw}");
        // The record that caused the event is included; an end that the server observed has none.
        let has_record = events.iter().any(|event| !event["native"].is_null());
        assert!(has_record || entry["kind"] == "session", "{entry}: {raw}");
        for event in events {
            let seq = event["seq"].as_u64().unwrap();
            assert_eq!(*event, log[seq as usize - 1], "{entry}");
        }
        if entry["kind"] == "command" {
            let all: Vec<_> = events.iter().filter(|event| event["item"] == entry["id"]).collect();
            let known = log.iter().filter(|event| event["item"] == entry["id"]).count();
            assert_eq!(all.len(), known, "{raw}");
        }
    }
    assert_eq!(rig.get(&format!("/api/page/sessions/{id}/entries/999/raw")).await.status, 404);
    assert_eq!(rig.get(&format!("/api/page/sessions/{id}/entries/999/text")).await.status, 404);
}

#[tokio::test]
async fn all_the_text_of_an_entry_is_a_file() {
    let rig = Rig::new();
    let id = rig.start("script", "burst 3000").await;
    rig.ended(&id).await;
    let entries = entries(&rig, &id).await;
    let answer = entries.iter().find(|entry| entry["kind"] == "answer").unwrap();
    let response = ask(&rig, &format!("/api/page/sessions/{id}/entries/{}/text", answer["n"]), &[]).await;
    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/plain; charset=utf-8");
    assert!(response.headers()[header::CONTENT_DISPOSITION].to_str().unwrap().starts_with("attachment"));
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let words = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(words.len() > 3_000, "{}", words.len());
}

#[tokio::test]
async fn images_are_given_as_what_they_are_and_nothing_else_is() {
    let rig = Rig::new();
    let image = |media_type: &str, data: &str| Content {
        kind: ContentType::Image,
        media_type: Some(media_type.to_owned()),
        data: Some(data.to_owned()),
        ..Content::default()
    };
    let content = vec![
        Content::text("look"),
        image("image/svg+xml", "PHN2Zz4="),
        image("image/png", "iVBORw0KGgo="),
        image("text/html", "PHNjcmlwdD4="),
        image("image/webp", "not base64"),
    ];
    let said = Item::new(UserMessage { content, ..UserMessage::default() });
    let id = written(&rig, vec![(Some("u1"), Happened::ItemCompleted(Box::new(said)))]).await;
    let html = entries(&rig, &id).await[0]["html"].as_str().unwrap().to_owned();
    assert!(html.contains(&format!("src=\"/api/page/sessions/{id}/media/1/0\"")), "{html}");
    let response = ask(&rig, &format!("/api/page/sessions/{id}/media/1/0"), &[]).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()[header::CONTENT_TYPE]),
        (200, &"image/png".parse().unwrap())
    );
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), &b"\x89PNG\r\n\x1a\n"[..]);
    for path in ["1/1", "1/2", "1/3", "2/0", "999/0", "0/0"] {
        let answer = rig.get(&format!("/api/page/sessions/{id}/media/{path}")).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{path}");
    }
}

#[tokio::test]
async fn a_session_is_exported() {
    let rig = Rig::new();
    let id = rig.start("script", "text **bold** <script>\nrun echo hi").await;
    rig.ended(&id).await;
    for (format, media_type, wanted) in [
        ("markdown", "text/markdown", "echo hi"),
        ("html", "text/html", "<!doctype html>"),
        ("jsonl", "application/x-ndjson", "\"kind\":\"session.started\""),
    ] {
        let response = ask(&rig, &format!("/api/page/sessions/{id}/export?format={format}"), &[]).await;
        assert!(response.headers()[header::CONTENT_TYPE].to_str().unwrap().starts_with(media_type), "{format}");
        let name = response.headers()[header::CONTENT_DISPOSITION].to_str().unwrap().to_owned();
        assert!(name.starts_with("attachment; filename=\"session-"), "{name}");
        let body = String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap();
        assert!(body.to_lowercase().contains(&wanted.to_lowercase()), "{format}: {body}");
        assert!(format == "jsonl" || !body.contains("<script>"), "{format}: {body}");
    }
    assert_eq!(rig.get(&format!("/api/page/sessions/{id}/export?format=pdf")).await.code(), "bad_field");
}

#[tokio::test]
async fn folders_are_completed_below_the_roots_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("allowed");
    for name in ["allowed/alpha", "allowed/alps", "allowed/beta", "allowed/.hidden", "secret/alpha"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    std::fs::write(root.join("alfile"), "").unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret"), root.join("alink")).unwrap();
    let asked = async |rig: &Rig, prefix: String| {
        let answer = rig.get(&format!("/api/page/folders?prefix={}", prefix.replace('/', "%2F"))).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let folders = answer.body["folders"].as_array().unwrap().clone();
        folders
            .into_iter()
            .map(|name| name.as_str().unwrap().rsplit('/').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let at = |path: &str| folder.path().join(path).display().to_string();
    let free = Rig::new();
    assert_eq!(asked(&free, at("allowed/al")).await, ["alink", "alpha", "alps"]);
    assert_eq!(asked(&free, at("allowed/.h")).await, [".hidden"]);
    assert_eq!(asked(&free, at("secret/")).await, ["alpha"]);
    assert_eq!(asked(&free, at("nowhere/x")).await, Vec::<String>::new());
    let bound = Rig::with(vec![root.clone()]);
    assert_eq!(asked(&bound, at("allowed/al")).await, ["alpha", "alps"]);
    assert_eq!(asked(&bound, at("secret/")).await, Vec::<String>::new());
    assert_eq!(asked(&bound, at("allowed/alink/")).await, Vec::<String>::new());
    assert_eq!(asked(&bound, at("allowed/../secret/")).await, Vec::<String>::new());
    assert_eq!(asked(&bound, at("al")).await, ["allowed"]);
    assert_eq!(asked(&bound, at("")).await, ["allowed"]);
}

#[tokio::test]
async fn who_begins_a_session_is_told_what_there_is() {
    let rig = Rig::new();
    let id = rig.start("script", "text hi").await;
    rig.ended(&id).await;
    let answer = rig.get("/api/page/new").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let script = answer.body["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "script").unwrap();
    assert_eq!((&script["state"], &script["models"][0]["id"]), (&json!("builtIn"), &json!("script-1")));
    assert_eq!(answer.body["folders"].as_array().unwrap().len(), 1, "{answer:?}");
    assert_eq!(answer.body["defaults"]["agent"], "script");
}

#[tokio::test]
async fn the_files_of_the_page_are_given_once() {
    let rig = Rig::new();
    for path in ["/", "/new", "/s/some-session", "/h/some-log", "/history", "/usage"] {
        let response = ask(&rig, path, &[]).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-cache");
        let tag = response.headers()[header::ETAG].to_str().unwrap().to_owned();
        let again = ask(&rig, path, &[(header::IF_NONE_MATCH, &tag)]).await;
        assert_eq!((again.status().as_u16(), again.headers()[header::ETAG].to_str().unwrap()), (304, &*tag), "{path}");
    }
    for path in ["/static/nothing.js", "/static/../Cargo.toml", "/static/%2e%2e/Cargo.toml", "/static/"] {
        assert_eq!(ask(&rig, path, &[]).await.status(), 404, "{path}");
    }
    for path in switchboard_page::assets::paths() {
        assert_eq!(ask(&rig, &format!("/static/{path}"), &[]).await.status(), 200, "{path}");
    }
}
