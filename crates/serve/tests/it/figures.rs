//! Health, figures and agents.

use serde_json::json;

use crate::rig::Rig;

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
    // The end is counted when nothing of the session is left, a moment after it is told.
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
    let stream = rig.service.metrics().stream("sse", "some");
    let open = r#"switchboard_streams_open{wire="sse",dialect="some"} "#;
    assert!(rig.get("/metrics").await.body.as_str().unwrap().contains(&format!("{open}1")));
    drop(stream);
    assert!(rig.get("/metrics").await.body.as_str().unwrap().contains(&format!("{open}0")));
}
