//! Refused requests: each has a fitting status, a code, and the name of the field.

use axum::{
    body::Body,
    http::{Request, header},
};
use serde_json::{Value, json};

use crate::rig::Rig;

async fn count(rig: &Rig) -> usize {
    rig.get("/api/sessions").await.body["sessions"].as_array().unwrap().len()
}

#[tokio::test]
async fn requests_that_make_no_sense_start_nothing() {
    let rig = Rig::new();
    let with = |field: &str, value: Value| {
        let mut request = json!({ "agentType": "echo", "prompt": "x" });
        request[field] = value;
        request
    };
    let config = |value: Value| with("config", value);
    for (body, code, field) in [
        (json!({ "prompt": "x" }), "bad_field", "agentType"),
        (json!({ "agentType": "echo" }), "bad_field", "prompt"),
        (json!([]), "bad_field", ""),
        (json!(null), "bad_field", ""),
        (with("agentType", json!("nobody")), "unknown_agent", "agentType"),
        (with("agentType", json!(7)), "bad_field", "agentType"),
        (with("prompt", json!("")), "bad_field", "prompt"),
        (with("prompt", json!("é".repeat(100_001))), "bad_field", "prompt"),
        (with("prompt", json!(["x"])), "bad_field", "prompt"),
        (config(json!({ "approvalMode": "sure" })), "bad_field", "config.approvalMode"),
        (config(json!({ "sandboxMode": "box" })), "bad_field", "config.sandboxMode"),
        (config(json!({ "maxTurns": 0 })), "bad_field", "config.maxTurns"),
        (config(json!({ "maxTurns": 1001 })), "bad_field", "config.maxTurns"),
        (config(json!({ "maxTurns": -1 })), "bad_field", "config.maxTurns"),
        (config(json!({ "maxTurns": 1.5 })), "bad_field", "config.maxTurns"),
        (config(json!({ "allowedTools": "all" })), "bad_field", "config.allowedTools"),
        (config(json!({ "workingDirectory": "here" })), "bad_field", "config.workingDirectory"),
        (config(json!({ "mcpServers": { "a": { "type": "pigeon" } } })), "bad_field", "config.mcpServers.a.type"),
        (with("images", json!([{ "mediaType": "text/plain", "data": "QUJD" }])), "bad_field", "images[0].mediaType"),
        (with("images", json!([{ "mediaType": "image/png", "data": "not base64" }])), "bad_field", "images[0].data"),
        (with("images", json!([{ "mediaType": "image/png" }])), "bad_field", "images[0]"),
        (with("env", json!({ "A=B": "x" })), "bad_field", "env"),
        (with("env", json!({ "A": 1 })), "bad_field", "env.A"),
        (with("command", json!(["a\u{0}b"])), "bad_field", "command"),
        (with("fork", json!(true)), "bad_field", "fork"),
        (with("timeoutSeconds", json!(0)), "bad_field", "timeoutSeconds"),
        (with("timeoutSeconds", json!(1e300)), "bad_field", "timeoutSeconds"),
        (with("approvalTimeoutSeconds", json!(-1)), "bad_field", "approvalTimeoutSeconds"),
    ] {
        let answer = rig.post("/api/sessions", body.clone()).await;
        let shown: String = body.to_string().chars().take(100).collect();
        assert_eq!((answer.status, answer.code()), (400, code), "{shown}: {answer:?}");
        assert!(answer.detail().contains(field), "{shown}: {}", answer.detail());
    }
    assert_eq!(count(&rig).await, 0);
    // The maximum number of characters, each of more than one byte.
    let longest = rig.post("/api/sessions", with("prompt", json!("é".repeat(100_000)))).await;
    assert_eq!(longest.status, 201);
}

#[tokio::test]
async fn settings_are_taken_by_any_plain_name_and_never_swallowed() {
    let rig = Rig::new();
    let start = |path: &'static str, extra: Value| {
        let mut body = match path {
            "/api/run" => json!({ "driver": "echo", "task": "x" }),
            _ => json!({ "agentType": "echo", "prompt": "x" }),
        };
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        (path, body)
    };
    for extra in [
        json!({ "sandboxMode": "fullAccess" }),
        json!({ "config": { "sandboxmode": "fullAccess" } }),
        json!({ "config": { "sandbox_mode": "full_access" } }),
        json!({ "sandboxPolicy": { "type": "dangerFullAccess" } }),
        json!({ "config": { "sandbox": { "type": "dangerFullAccess" } } }),
    ] {
        let (path, body) = start("/api/sessions", extra.clone());
        let answer = rig.post(path, body).await;
        assert_eq!((answer.status, &answer.body["config"]["sandboxMode"]), (201, &json!("fullAccess")), "{extra}");
    }
    for (extra, parts) in [
        (json!({ "config": { "hooks": { "beforeToolCall": "x" } } }), ["config.hooks", "approvalMode"]),
        (json!({ "permissionMode": "plan" }), ["permissionMode", "config.approvalMode"]),
        (json!({ "sandboxMode": "none", "config": { "sandboxMode": "readOnly" } }), ["sandboxMode", "twice"]),
        (json!({ "config": { "blockTools": ["x"] } }), ["config.blockTools", "blockedTools"]),
    ] {
        for path in ["/api/sessions", "/api/run"] {
            let (path, body) = start(path, extra.clone());
            let answer = rig.post(path, body).await;
            assert_eq!((answer.status, answer.code()), (400, "bad_field"), "{path} {extra}: {answer:?}");
            assert!(parts.iter().all(|part| answer.detail().contains(part)), "{extra}: {}", answer.detail());
        }
    }
    let (path, body) = start("/api/sessions", json!({ "novelty": 1, "config": { "mood": "fine" } }));
    let id = rig.post(path, body).await.body["id"].as_str().unwrap().to_owned();
    rig.ended(&id).await;
    let events = rig.get(&format!("/api/sessions/{id}/events?dialect=events&limit=1000")).await.body;
    let has = events["events"].as_array().unwrap().iter().any(|event| {
        event["kind"] == "notice" && event["data"]["text"] == "ignored unknown fields: novelty, config.mood"
    });
    assert!(has, "{events}");
}

#[tokio::test]
async fn what_cannot_be_done_here_says_so() {
    let rig = Rig::new();
    let file = rig.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let image = json!([{ "mediaType": "image/png", "data": "QUJD" }]);
    let some = |agent: &str, field: &str, value: Value| json!({ "agentType": agent, "prompt": "x", (field): value });
    for (body, status, code) in [
        (some("echo", "config", json!({ "workingDirectory": "/there/is/no/such" })), 409, "bad_folder"),
        (some("echo", "config", json!({ "workingDirectory": file })), 409, "bad_folder"),
        (some("echo", "agentId", json!("script")), 409, "two_agents"),
        (some("echo", "images", image), 409, "unsupported"),
        (some("acp", "command", json!(["/there/is/no/such"])), 409, "not_installed"),
        (some("echo", "sessionId", json!("nothing")), 404, "no_session"),
    ] {
        let answer = rig.post("/api/sessions", body.clone()).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{body}: {answer:?}");
    }
    assert_eq!(count(&rig).await, 0);
}

#[tokio::test]
async fn an_agent_that_is_not_installed_comes_with_a_hint() {
    let rig = Rig::new();
    let missing = switchboard_agents::AGENTS.iter().find(|agent| agent.install.is_some()).unwrap();
    let answer = rig.post("/api/sessions", json!({ "agentType": missing.name, "prompt": "x" })).await;
    assert_eq!((answer.status, answer.code()), (409, "not_installed"), "{answer:?}");
    assert!(answer.body["hint"].as_str().unwrap().contains(missing.install.unwrap()));
}

#[tokio::test]
async fn bodies_that_are_no_json_are_refused() {
    let rig = Rig::new();
    let send = async |media_type: Option<&str>, body: Body| {
        let mut request = Request::builder().method("POST").uri("/api/sessions");
        if let Some(media_type) = media_type {
            request = request.header(header::CONTENT_TYPE, media_type);
        }
        let answer = rig.ask(request.body(body).unwrap()).await;
        (answer.status, answer.code().to_owned())
    };
    let json = r#"{"agentType":"echo","prompt":"x"}"#;
    for (media_type, body, status, code) in [
        (Some("application/json"), "{nope", 400, "bad_json"),
        (Some("application/json"), "", 400, "bad_json"),
        (Some("application/json"), r#"{"agentType":"echo","prompt":"\ud800"}"#, 400, "bad_field"),
        (Some("text/plain"), json, 415, "not_json"),
        (Some("application/x-www-form-urlencoded"), json, 415, "not_json"),
        (None, json, 415, "not_json"),
        (Some("application/json; charset=utf-8"), json, 201, ""),
        (Some("application/vnd.api+json"), json, 201, ""),
    ] {
        assert_eq!(send(media_type, Body::from(body)).await, (status, code.to_owned()), "{media_type:?} {body}");
    }
    // Deep nesting does no harm, in ignored fields or others.
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let ignored = format!(r#"{{"agentType":"echo","prompt":"x","other":{deep}}}"#);
    assert_eq!(send(Some("application/json"), Body::from(ignored)).await, (201, String::new()));
    let read = format!(r#"{{"agentType":"echo","prompt":{deep}}}"#);
    assert_eq!(send(Some("application/json"), Body::from(read)).await, (400, "bad_field".to_owned()));
    let large = vec![b' '; 33 << 20];
    assert_eq!(send(Some("application/json"), Body::from(large)).await, (413, "too_large".to_owned()));
    let images = json!({ "mediaType": "image/png", "data": "QUJD".repeat(4 << 20) });
    let images = json!({ "agentType": "echo", "prompt": "x", "images": [images, { "mediaType": "image/png", "data": "QUJD".repeat(3 << 20) }] });
    assert_eq!(send(Some("application/json"), Body::from(images.to_string())).await, (413, "too_large".to_owned()));
}

#[tokio::test]
async fn bad_queries_and_addresses_are_refused() {
    let rig = Rig::new();
    let id = rig.start("echo", "x").await;
    rig.ended(&id).await;
    for query in [
        "offset=-1",
        "offset=x",
        "limit=x",
        "limit=0",
        "limit=10001",
        "dialect=klingon",
        "after=-1",
        "wait=61",
        "wait=-1",
        "wait=NaN",
        "offset=99999999999999999999",
        "offset=18446744073709551615",
    ] {
        let answer = rig.get(&format!("/api/sessions/{id}/events?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.detail().contains(query.split('=').next().unwrap()), "{query}: {}", answer.detail());
    }
    for query in [
        "limit=0",
        "limit=501",
        "limit=x",
        "state=resting",
        "before=0",
        "before=x",
        "before=-1",
        "before=99999999999999999999",
    ] {
        assert_eq!(rig.get(&format!("/api/sessions?{query}")).await.status, 400, "{query}");
    }
    for path in ["nope", "nope/events", "nope/approvals", "00000000-0000-0000-0000-000000000000", "%00", "%F0%9F%8D%89"]
    {
        let answer = rig.get(&format!("/api/sessions/{path}")).await;
        assert_eq!((answer.status, answer.code()), (404, "no_session"), "{path}");
    }
    for operation in ["cancel", "interrupt"] {
        let answer = rig.send("POST", &format!("/api/sessions/nope/{operation}"), None).await;
        assert_eq!((answer.status, answer.code()), (404, "no_session"), "{operation}");
    }
    assert_eq!(rig.post("/api/sessions/nope/prompt", json!({ "prompt": "x" })).await.code(), "no_session");
    assert_eq!(rig.delete("/api/sessions/nope").await.code(), "no_session");
    assert_eq!(rig.get("/api/sessions/%FF").await.code(), "bad_path");
    assert_eq!(rig.get("/nowhere").await.code(), "not_found");
    let wrong = rig.send("PUT", "/api/sessions", None).await;
    assert_eq!((wrong.status, wrong.code(), &*wrong.media_type), (405, "not_allowed", "application/problem+json"));
}

#[tokio::test]
async fn sessions_work_below_the_roots_only() {
    let outer = tempfile::tempdir().unwrap();
    let (inside, outside) = (outer.path().join("in"), outer.path().join("out"));
    let deep = inside.join("deep");
    for folder in [&deep, &outside] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::os::unix::fs::symlink(&outside, inside.join("way-out")).unwrap();
    std::os::unix::fs::symlink(&deep, outer.path().join("way-in")).unwrap();
    let rig = Rig::with(vec![inside.clone()]);
    for (folder, status) in [
        (inside.clone(), 201),
        (deep.clone(), 201),
        (outer.path().join("way-in"), 201),
        (inside.join("deep/../deep"), 201),
        (outside.clone(), 403),
        (inside.join("way-out"), 403),
        (inside.join("../out"), 403),
        (outer.path().join("in-not-really"), 403),
        ("/".into(), 403),
        ("/there/is/no/such".into(), 403),
    ] {
        let config = json!({ "workingDirectory": folder });
        let answer = rig.post("/api/sessions", json!({ "agentType": "echo", "prompt": "x", "config": config })).await;
        assert_eq!(answer.status, status, "{}: {answer:?}", folder.display());
        assert!(status == 201 || answer.code() == "outside_roots", "{answer:?}");
    }
    // The server's own directory is not below the roots.
    assert_eq!(rig.post("/api/sessions", json!({ "agentType": "echo", "prompt": "x" })).await.code(), "outside_roots");
    let nowhere = Rig::with(vec!["/there/is/no/such".into()]);
    assert_eq!(
        nowhere.post("/api/sessions", json!({ "agentType": "echo", "prompt": "x" })).await.code(),
        "outside_roots"
    );
}

#[tokio::test]
async fn a_full_disk_is_said_and_what_is_there_can_be_read() {
    let rig = Rig::small(1 << 20);
    let request = json!({ "agentType": "echo", "prompt": "x".repeat(100_000) });
    let mut refused = None;
    for _ in 0..50 {
        let answer = rig.post("/api/sessions", request.clone()).await;
        if answer.status != 201 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a megabyte is not enough for this");
    assert_eq!((refused.status, refused.code()), (507, "disk_full"), "{refused:?}");
    assert!(!rig.get("/api/sessions").await.body["sessions"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn names_and_settings_have_an_end() {
    let rig = Rig::new();
    let with = |field: &str, value: Value| json!({ "agentType": "echo", "prompt": "x", (field): value });
    let long = "x".repeat(300_000);
    for (body, field) in [
        (with("projectId", json!(long)), "projectId"),
        (with("config", json!({ "model": long })), "config"),
        (with("config", json!({ "allowedTools": [long] })), "config"),
        (with("env", json!({ "A": long })), "env"),
        (with("command", json!([long])), "env"),
        (json!(["echo", "x"]), "object"),
    ] {
        let answer = rig.post("/api/sessions", body).await;
        assert_eq!((answer.status, answer.code()), (400, "bad_field"), "{field}: {answer:?}");
        assert!(answer.detail().contains(field), "{field}: {answer:?}");
    }
    assert_eq!(count(&rig).await, 0);
}
