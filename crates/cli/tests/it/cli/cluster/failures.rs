//! Nodes that are killed, and NATS that is away for a while.

use std::collections::HashSet;

use serde_json::json;
use switchboard_log_conformance::nats::wait_for;

use super::{TestCluster, all_events, assert_dense, call, has_said, node_state, request, start, view, wait_for_end};

#[test]
fn sessions_of_a_killed_node_end_and_continue_on_it() {
    let Some(mut cluster) = TestCluster::start() else { return };
    let session = start(cluster.node(0), "text before\nburst 1000000 at 500", &json!({ "node": "b" }));
    wait_for("the burst has begun", || (view(cluster.node(0), &session)["events"].as_u64()? > 100).then_some(()));
    let directory = cluster.kill(1);
    let (a, c) = (cluster.node(0), cluster.node(2));
    assert_eq!(wait_for_end(a, &session), "failed");
    let ended = view(a, &session);
    assert_eq!((&ended["node"], &ended["error"]["info"]), (&json!("b"), &json!("interrupted")), "{ended}");
    let expected = all_events(a, &session);
    assert_dense(&expected);
    assert_eq!(all_events(c, &session), expected);
    let items = |kind: &str| -> HashSet<String> {
        let events = expected.iter().filter(|event| event["kind"] == kind);
        events.map(|event| event["item"].to_string()).collect()
    };
    assert_eq!(items("item.started"), items("item.completed"));

    wait_for("the node is gone", || (node_state(a, "b") == "gone").then_some(()));
    let prompt = format!("/api/sessions/{session}/prompt");
    let (status, problem) = call(c, "POST", &prompt, Some(&json!({ "prompt": "text again" })));
    assert_eq!((status, problem["code"].as_str()), (503, Some("node_gone")), "{problem}");
    cluster.restart(1, directory);
    let c = cluster.node(2);
    wait_for("the node is back", || {
        let (status, _) = call(c, "POST", &prompt, Some(&json!({ "prompt": "text again" })));
        (status == 202).then_some(())
    });
    wait_for("the next turn", || has_said(cluster.node(0), &session, "again").then_some(()));
}

#[test]
fn sessions_wait_while_nats_is_away() {
    let Some(mut cluster) = TestCluster::start() else { return };
    let session = start(cluster.node(0), "burst 1000000 at 500", &json!({ "node": "b" }));
    wait_for("the burst has begun", || (view(cluster.node(2), &session)["events"].as_u64()? > 100).then_some(()));
    cluster.nats.servers.iter_mut().for_each(|server| server.kill());
    let problem = wait_for("sessions are refused", || {
        let (status, problem) = request(cluster.node(0), "text x", &json!({}));
        (status >= 500).then_some(problem)
    });
    assert_eq!(problem["code"], "log_unreachable", "{problem}");
    let health = wait_for("the node is degraded", || {
        let (status, health) = call(cluster.node(0), "GET", "/api/health", None);
        assert_eq!(status, 200, "{health}");
        (health["status"] == "degraded").then_some(health)
    });
    assert_eq!(health["reason"], "log_unreachable");
    let before = view(cluster.node(2), &session)["events"].as_u64().unwrap();
    cluster.nats.servers.iter_mut().for_each(|server| server.start());
    cluster.nats.wait_until_healthy();
    let seen = || view(cluster.node(2), &session)["events"].as_u64();
    wait_for("the session continues", || (seen()? > before + 500).then_some(()));
    wait_for("it can be cancelled", || {
        let (status, _) = call(cluster.node(2), "POST", &format!("/api/sessions/{session}/cancel"), None);
        (status == 202).then_some(())
    });
    assert_eq!(wait_for_end(cluster.node(0), &session), "cancelled");
}
