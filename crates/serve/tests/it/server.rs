//! The server itself: its API description, its metrics, and a damaged log.

use std::collections::HashSet;

use serde_json::{Value, json};
use switchboard_serve::openapi;

use crate::rig::{Rig, text};

fn schemas<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("schema"));
            fields.values().for_each(|value| schemas(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| schemas(value, found)),
        _ => {}
    }
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_one() {
    let document = openapi::document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for reference in found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
    let mut found = Vec::new();
    schemas(&document, &mut found);
    found.extend(document["components"]["schemas"].as_object().unwrap().values());
    assert!(found.len() > 30);
    for schema in found {
        assert!(jsonschema::meta::is_valid(schema), "{schema}");
    }
}

#[test]
fn every_operation_is_described() {
    let document = openapi::document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut names = HashSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is there twice");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{method} {path}");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2') || status == "101"), "{method} {path}");
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(in_path, path.matches('{').count(), "{method} {path}");
            for parameter in &parameters {
                assert!(!parameter["schema"].to_string().contains("\"null\""), "{method} {path}: {parameter}");
            }
        }
    }
}

#[test]
fn bounds_and_names_are_said() {
    let document = openapi::document();
    let request = &document["components"]["schemas"]["SessionRequest"];
    let prompt = &request["properties"]["prompt"];
    assert_eq!((prompt["minLength"].as_u64(), prompt["maxLength"].as_u64()), (Some(1), Some(100_000)));
    let config = request["properties"]["config"].to_string();
    assert!(config.contains(r#""maximum":1000"#) && config.contains(r#""default":"ask""#), "{config}");
    let agents = request["properties"]["agentType"].to_string();
    assert!(switchboard_agents::AGENTS.iter().all(|agent| agents.contains(&format!("\"{}\"", agent.name))));
    let events = document["paths"]["/api/sessions/{id}/events"]["get"]["parameters"].to_string();
    assert!(switchboard_dialects::DIALECTS.iter().all(|dialect| events.contains(&format!("\"{}\"", dialect.name))));
}

#[tokio::test]
async fn the_description_is_served() {
    let rig = Rig::new();
    let answer = rig.get("/openapi.json").await;
    assert_eq!((answer.status, &answer.body), (200, &openapi::document()));
}

#[test]
fn the_page_for_people_has_every_operation() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md")).unwrap();
    for path in openapi::document()["paths"].as_object().unwrap().keys() {
        // In examples, variables stand for IDs.
        let example = path.replace("{id}", "$ID").replace("{rid}", "$REQUEST");
        assert!(page.contains(path) || page.contains(&example), "{path}");
    }
}

#[tokio::test]
async fn the_server_says_how_it_is() {
    let rig = Rig::new();
    let health = rig.get("/api/health").await.body;
    assert_eq!((&health["status"], &health["sessions"]), (&json!("ok"), &json!(0)));
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    rig.start_asking("approve touch x").await;
    assert_eq!(rig.get("/api/health").await.body["sessions"], 1);
}

#[tokio::test]
async fn all_agents_are_listed() {
    let rig = Rig::new();
    let agents = rig.get("/api/agents").await.body;
    let names: Vec<_> =
        agents["agents"].as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    let known: Vec<_> = switchboard_agents::AGENTS.iter().map(|agent| agent.name).collect();
    assert_eq!(names, known);
    let echo = agents["agents"].as_array().unwrap().iter().find(|agent| agent["id"] == "echo").unwrap();
    assert_eq!((&echo["state"], &echo["abilities"]["resume"]), (&json!("builtIn"), &json!(true)));
}

#[tokio::test]
async fn figures_are_counted() {
    let rig = Rig::new();
    let id = rig.start("echo", "x").await;
    let view = rig.ended(&id).await;
    let (waiting, _) = rig.start_asking("approve touch x").await;
    let more = rig.get(&format!("/api/sessions/{waiting}")).await.body["events"].as_u64().unwrap();
    rig.get("/api/sessions/nope").await;
    // The end is counted a moment after it is sent.
    let text = loop {
        let text = rig.get("/metrics").await.body.as_str().unwrap().to_owned();
        if text.contains("switchboard_sessions_ended_total") {
            break text;
        }
        tokio::task::yield_now().await;
    };
    let events = view["events"].as_u64().unwrap() + more;
    for line in [
        r#"switchboard_sessions_started_total{agent="echo"} 1"#,
        r#"switchboard_sessions_ended_total{agent="echo",reason="completed"} 1"#,
        "switchboard_sessions_running 1",
        "switchboard_sessions_waiting 1",
        &format!("switchboard_events_appended_total {events}"),
        r#"switchboard_requests_total{method="GET",route="/api/sessions/{id}",status="404"} 1"#,
        r#"switchboard_request_duration_seconds_count{method="POST",route="/api/sessions"} 2"#,
        "switchboard_build_info{version=",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    for figure in ["log_size_bytes", "memory_resident_bytes", "open_files"] {
        let line = text.lines().find(|line| line.starts_with(&format!("switchboard_{figure} "))).unwrap();
        assert!(line.split(' ').nth(1).unwrap().parse::<u64>().unwrap() > 0, "{line}");
    }
    let stream = rig.service.metrics().count_stream("sse", "some");
    let open = r#"switchboard_streams_open{wire="sse",dialect="some"} "#;
    assert!(rig.get("/metrics").await.body.as_str().unwrap().contains(&format!("{open}1")));
    drop(stream);
    assert!(rig.get("/metrics").await.body.as_str().unwrap().contains(&format!("{open}0")));
}

/// Writes an ended session with one damaged event; returns a server that has nothing of it in memory.
async fn with_damage(seq: u64) -> (Rig, String) {
    let rig = Rig::new();
    let id = rig.start("script", "text one\ntext two").await;
    rig.ended(&id).await;
    let log = rusqlite::Connection::open(rig.folder.path().join("data/log.db")).unwrap();
    let changed = log.execute(
        "UPDATE events SET body = replace(body, '\"seq\":', '\"seq\": ') WHERE place & 0xffffffffff = ?1",
        [seq],
    );
    assert_eq!(changed, Ok(1));
    (rig.second_process(), id)
}

#[tokio::test]
async fn a_damaged_event_is_named_and_the_rest_can_be_read() {
    let (rig, id) = with_damage(2).await;
    let first = rig.get(&format!("/api/sessions/{id}/events?dialect=events&limit=1")).await;
    assert_eq!(first.status, 200, "{first:?}");
    let answer = rig.get(&format!("/api/sessions/{id}/events?dialect=events&after=1")).await;
    assert_eq!((answer.status, answer.code()), (500, "damaged_event"), "{answer:?}");
    assert!(answer.detail().contains(&id) && answer.detail().contains("event 2"), "{answer:?}");
    let rest = text(&rig.service, &format!("/api/sessions/{id}/stream?dialect=events&after=2")).await;
    assert!(rest.contains("id: 3\n") && !rest.contains("closed"), "{rest}");
    let stream = text(&rig.service, &format!("/api/sessions/{id}/stream?dialect=events")).await;
    assert!(stream.contains("id: 1\n") && !stream.contains("id: 2\n"), "{stream}");
    assert!(stream.contains("event: closed") && stream.contains("event 2 is damaged"), "{stream}");
}

#[tokio::test]
async fn exports_leave_damaged_events_out_and_say_so() {
    let (rig, id) = with_damage(2).await;
    let events = text(&rig.service, &format!("/api/page/sessions/{id}/export?format=jsonl")).await;
    assert!(events.contains("{\"damagedEvent\":2}\n") && events.contains("\"seq\":3"), "{events}");
    let story = text(&rig.service, &format!("/api/page/sessions/{id}/export?format=markdown")).await;
    assert!(story.contains("checksums do not match: 2"), "{story}");
}

#[tokio::test]
async fn a_data_directory_that_was_removed_is_noticed() {
    let rig = Rig::new();
    assert_eq!(rig.get("/api/health").await.body["status"], "ok");
    std::fs::remove_dir_all(rig.folder.path().join("data")).unwrap();
    let health = rig.get("/api/health").await;
    assert_eq!((health.status, health.code()), (503, "data_missing"), "{health:?}");
    let refused = rig.post("/api/sessions", json!({ "agentType": "echo", "prompt": "x" })).await;
    assert_eq!((refused.status, refused.code()), (503, "data_missing"), "{refused:?}");
}
