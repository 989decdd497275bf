//! Starting, listing, looking at and deleting sessions.

use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn a_session_runs_and_is_shown() {
    let rig = Rig::new();
    let started = rig.post("/api/sessions", json!({ "agentId": "echo", "projectId": "p", "prompt": "hello" })).await;
    assert_eq!(started.status, 201, "{started:?}");
    let view = rig.ended(started.body["id"].as_str().unwrap()).await;
    let folder = rig.folder.path().canonicalize().unwrap();
    for (field, value) in [
        ("state", json!("done")),
        ("agentType", json!("echo")),
        ("agentId", json!("echo")),
        ("projectId", json!("p")),
        ("prompt", json!("hello")),
        ("workingDirectory", json!(folder)),
        ("turns", json!(1)),
        ("runs", json!(1)),
        ("reason", json!("completed")),
        ("approvals", json!(0)),
    ] {
        assert_eq!(view[field], value, "{field}");
    }
    assert_eq!((&view["config"]["approvalMode"], &view["config"]["sandboxMode"]), (&json!("ask"), &json!("none")));
    assert!(view["events"].as_u64().unwrap() > 3 && view["endedAt"].is_string() && view.get("activity").is_none());
}

#[tokio::test]
async fn both_shapes_of_a_request_are_taken_and_settings_are_kept() {
    let rig = Rig::new();
    let folder = rig.subfolder("work");
    let config = json!({
        "projectId": "inner", "workingDirectory": folder, "approvalMode": "autoEdit", "sandboxMode": "fullAccess",
        "allowedTools": ["read"], "maxTurns": 3
    });
    let id = rig.start_with(json!({ "agentType": "echo", "prompt": "x", "config": config })).await;
    let view = rig.ended(&id).await;
    assert_eq!(view["projectId"], "inner");
    for field in ["approvalMode", "sandboxMode", "allowedTools", "maxTurns"] {
        assert_eq!(view["config"][field], config[field], "{field}");
    }
    assert_eq!(view["workingDirectory"], json!(folder.canonicalize().unwrap()));
    let outer =
        rig.start_with(json!({ "agentType": "echo", "prompt": "x", "projectId": "outer", "config": config })).await;
    assert_eq!(rig.ended(&outer).await["projectId"], "outer");
}

#[tokio::test]
async fn secrets_of_servers_are_not_shown() {
    let rig = Rig::new();
    let servers = json!({ "db": { "command": "db", "env": { "PASSWORD": "hunter2" } } });
    let answer = rig
        .post(
            "/api/sessions",
            json!({ "agentType": "script", "prompt": "text x", "config": { "mcpServers": servers } }),
        )
        .await;
    assert!(!answer.body.to_string().contains("hunter2"), "{answer:?}");
}

#[tokio::test]
async fn sessions_are_listed_newest_first_in_pages() {
    let rig = Rig::new();
    let mut ids = Vec::new();
    for number in 0..7 {
        let project = if number % 2 == 0 { "even" } else { "odd" };
        let prompt = format!("Number {number}");
        ids.push(rig.start_with(json!({ "agentType": "echo", "prompt": prompt, "projectId": project })).await);
    }
    for id in &ids {
        rig.ended(id).await;
    }
    ids.reverse();
    let (mut seen, mut path) = (Vec::new(), "/api/sessions?limit=3".to_owned());
    for page in 0..3 {
        let list = rig.get(&path).await.body;
        let sessions = list["sessions"].as_array().unwrap().clone();
        assert_eq!(sessions.len(), [3, 3, 1][page]);
        seen.extend(sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()));
        assert_eq!(list["next"].is_string(), page < 2, "{list}");
        path = format!("/api/sessions?limit=3&before={}", list["next"].as_str().unwrap_or_default());
    }
    assert_eq!(seen, ids);
    for (query, number) in [
        ("project=even", 4),
        ("project=none", 0),
        ("agent=echo", 7),
        ("agent=script", 0),
        ("text=nUMBER%203", 1),
        ("state=done", 7),
        ("state=running", 0),
        ("state=failed", 0),
        ("project=odd&text=number", 3),
        ("cwd=%2Fnowhere", 0),
    ] {
        let list = rig.get(&format!("/api/sessions?{query}")).await.body;
        assert_eq!(list["sessions"].as_array().unwrap().len(), number, "{query}");
    }
}

#[tokio::test]
async fn running_means_all_that_is_open() {
    let rig = Rig::new();
    let (waiting, _) = rig.start_asking("approve touch x").await;
    let running = rig.start("script", "sleep 60").await;
    let idle = rig.start_with(json!({ "agentType": "echo", "prompt": "x", "stay": true })).await;
    rig.until(&idle, |view| view["activity"] == "idle").await;
    rig.until(&waiting, |view| view["activity"] == "waiting").await;
    let done = rig.start("echo", "x").await;
    rig.ended(&done).await;
    let listed = async |query: &str| {
        let list = rig.get(&format!("/api/sessions?{query}")).await.body;
        let ids = list["sessions"].as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(listed("state=running").await, [idle.clone(), running.clone(), waiting.clone()]);
    assert_eq!(listed("state=running&limit=2").await, [idle.clone(), running.clone()]);
    assert_eq!(listed("state=waiting").await, [waiting]);
    assert_eq!(listed("state=idle").await, [idle]);
}

#[tokio::test]
async fn a_deleted_session_is_gone_whether_it_ran_or_not() {
    let rig = Rig::new();
    let done = rig.start("echo", "x").await;
    rig.ended(&done).await;
    let running = rig.start("script", "sleep 60").await;
    let (waiting, _) = rig.start_asking("approve touch x").await;
    for id in [&done, &running, &waiting] {
        assert_eq!(rig.delete(&format!("/api/sessions/{id}")).await.status, 204);
        assert_eq!(rig.get(&format!("/api/sessions/{id}")).await.status, 404);
        assert_eq!(rig.delete(&format!("/api/sessions/{id}")).await.code(), "no_session");
    }
    assert!(rig.get("/api/sessions").await.body["sessions"].as_array().unwrap().is_empty());
    assert!(rig.service.engine().sessions().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_who_delete_a_session_one_is_told_that_it_did() {
    let rig = Rig::new();
    for script in ["text done", "sleep 60"] {
        let id = rig.start("script", script).await;
        if script != "sleep 60" {
            rig.ended(&id).await;
        }
        let path = format!("/api/sessions/{id}");
        let answers = futures_util::future::join_all((0..8).map(|_| rig.delete(&path))).await;
        let count = |status| answers.iter().filter(|answer| answer.status == status).count();
        assert_eq!((count(204), count(404)), (1, 7), "{answers:?}");
    }
}

#[tokio::test]
async fn a_limit_of_time_ends_a_session() {
    let rig = Rig::new();
    let request = json!({ "agentType": "script", "prompt": "sleep 60", "timeoutSeconds": 0.05 });
    let view = {
        let id = rig.start_with(request).await;
        rig.ended(&id).await
    };
    assert_eq!((&view["state"], &view["reason"]), (&json!("failed"), &json!("timeout")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_stays_may_begin_without_a_prompt() {
    let rig = Rig::new();
    let started = rig.post("/api/sessions", json!({ "agentType": "script", "stay": true })).await;
    assert_eq!(started.status, 201, "{started:?}");
    let id = started.body["id"].as_str().unwrap().to_owned();
    let prompted = rig.post(&format!("/api/sessions/{id}/prompt"), json!({ "prompt": "text hello" })).await;
    assert_eq!(prompted.status, 202, "{prompted:?}");
    for body in [
        json!({ "agentType": "script" }),
        json!({ "agentType": "script", "prompt": "", "stay": false }),
        json!({ "sessionId": id, "stay": true }),
    ] {
        let refused = rig.post("/api/sessions", body.clone()).await;
        assert_eq!((refused.status, refused.code()), (400, "bad_field"), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_away_is_left_out_of_lists_that_want_it_so() {
    let rig = Rig::new();
    let (kept, away) = (rig.start("echo", "one").await, rig.start("echo", "two").await);
    let path = format!("/api/sessions/{away}/archive");
    let answer = rig.post(&path, json!({ "archived": true })).await;
    assert_eq!((answer.status, &answer.body["archived"]), (200, &json!(true)));
    let ids = async |query: &str| {
        let list = rig.get(&format!("/api/sessions{query}")).await.body;
        list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids("?archived=false").await, [kept.as_str()]);
    assert_eq!(ids("?archived=true").await, [away.as_str()]);
    assert_eq!(ids("").await, [away.as_str(), kept.as_str()]);
    rig.post(&path, json!({ "archived": false })).await;
    assert_eq!(ids("?archived=true").await, Vec::<String>::new());
    assert_eq!(rig.post("/api/sessions/nope/archive", json!({ "archived": true })).await.status, 404);
}
