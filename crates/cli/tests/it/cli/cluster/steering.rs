//! Sessions on other nodes: started, seen, answered, stopped and deleted from any node.

use std::thread;

use serde_json::json;
use switchboard_log_conformance::nats::wait_for;

use super::{
    NODES, TestCluster, all_events, assert_dense, call, has_said, node_state, request, start, view, wait_for_end,
};
use crate::binary::run;

#[test]
fn a_session_runs_where_it_is_asked_and_is_the_same_everywhere() {
    let Some(cluster) = TestCluster::start() else { return };
    let (a, b, c) = (cluster.node(0), cluster.node(1), cluster.node(2));
    let session = start(a, "text hello\nrun ls\ntext done", &json!({ "node": "b" }));
    assert_eq!(wait_for_end(c, &session), "done");
    let expected = all_events(b, &session);
    assert_dense(&expected);
    for node in [a, b, c] {
        assert_eq!(view(node, &session)["node"], "b");
        assert_eq!(all_events(node, &session), expected);
        let listed = |name: &str| {
            let (_, list) = call(node, "GET", &format!("/api/sessions?node={name}"), None);
            list["sessions"].as_array().unwrap().iter().any(|listed| listed["id"] == *session)
        };
        assert!(listed("b") && !listed("a"));
    }
    // The settings that agents see do not have the choice of the node.
    assert!(view(a, &session)["config"].get("node").is_none());

    let (status, problem) = request(a, "text x", &json!({ "node": "nowhere" }));
    assert_eq!((status, problem["code"].as_str()), (404, Some("no_node")));
    assert!(problem["detail"].as_str().unwrap().contains("nowhere"), "{problem}");
    let (status, problem) = request(a, "text x", &json!({ "node": "c", "labels": ["linux"] }));
    assert_eq!((status, problem["code"].as_str()), (409, Some("no_node")));
    let labeled = start(a, "text x", &json!({ "labels": ["linux", "gpu"] }));
    assert_eq!(view(b, &labeled)["node"], "b");

    // A follow-up from elsewhere is another turn on the session's node.
    let (status, answer) =
        call(c, "POST", &format!("/api/sessions/{session}/prompt"), Some(&json!({ "prompt": "text two" })));
    assert_eq!(status, 202, "{answer}");
    wait_for("the second turn", || has_said(a, &session, "two").then_some(()));
    assert_eq!(wait_for_end(a, &session), "done");
    assert_eq!(view(a, &session)["node"], "b");
    assert_dense(&all_events(c, &session));
}

#[test]
fn the_first_of_simultaneous_answers_counts() {
    let Some(cluster) = TestCluster::start() else { return };
    let (a, c) = (cluster.node(0), cluster.node(2));
    let session = start(a, "approve touch x\ntext after\nsleep 600", &json!({ "node": "b", "approvalMode": "ask" }));
    let request = wait_for("the request", || {
        let (_, open) = call(c, "GET", &format!("/api/sessions/{session}/approvals"), None);
        Some(open["approvals"].get(0)?["id"].as_str()?.to_owned())
    });
    let path = format!("/api/sessions/{session}/approvals/{request}");
    let answer = |index: usize| call(cluster.node(index), "POST", &path, Some(&json!({ "decision": "accept" })));
    let answers: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..NODES.len()).map(|index| scope.spawn(move || answer(index))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let accepted = answers.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!(accepted, 1, "{answers:?}");
    assert!(answers.iter().all(|(status, _)| [200, 409].contains(status)), "{answers:?}");
    wait_for("the agent continues", || has_said(a, &session, "after").then_some(()));

    let (status, answer) = call(c, "POST", &format!("/api/sessions/{session}/cancel"), None);
    assert_eq!(status, 202, "{answer}");
    assert_eq!(wait_for_end(a, &session), "cancelled");
    let open = start(c, "sleep 600", &json!({ "node": "b" }));
    let (status, answer) = call(a, "DELETE", &format!("/api/sessions/{open}"), None);
    assert_eq!(status, 204, "{answer}");
    for index in 0..NODES.len() {
        let path = format!("/api/sessions/{open}");
        wait_for("the session is gone", || (call(cluster.node(index), "GET", &path, None).0 == 404).then_some(()));
    }
}

#[test]
fn a_prompt_that_is_larger_than_a_message_arrives() {
    let Some(cluster) = TestCluster::start() else { return };
    let image = "A".repeat(3 << 20);
    let body = json!({
        "agentType": "script", "prompt": "text large", "config": { "node": "b" },
        "images": [{ "mediaType": "image/png", "data": image }],
    });
    let (status, view) = call(cluster.node(0), "POST", "/api/sessions", Some(&body));
    // The built-in agent sees no images, and its node says so.
    assert_eq!((status, view["code"].as_str()), (409, Some("unsupported")), "{view}");
}

#[test]
fn a_draining_node_accepts_no_new_sessions() {
    let Some(cluster) = TestCluster::start() else { return };
    let (a, urls) = (cluster.node(0), cluster.nats.urls().join(","));
    let running = start(a, "sleep 600", &json!({ "node": "b" }));
    let drained = run(&["nodes", "drain", "b", "--cluster", &urls], b"");
    assert_eq!((drained.code, drained.stderr.as_str()), (Some(0), "b is draining: it accepts no new sessions\n"));
    wait_for("the node is draining", || (node_state(a, "b") == "draining").then_some(()));
    let (status, problem) = request(a, "text x", &json!({ "node": "b" }));
    assert_eq!((status, problem["code"].as_str()), (503, Some("draining")), "{problem}");
    let (status, problem) = request(cluster.node(1), "text x", &json!({}));
    assert_eq!((status, problem["code"].as_str()), (503, Some("draining")), "{problem}");
    let elsewhere = start(a, "text x", &json!({ "labels": ["gpu"] }));
    assert_eq!(view(a, &elsewhere)["node"], "c");
    assert_eq!(view(a, &running)["state"], "running");

    let listed = run(&["nodes", "--json", "--cluster", &urls], b"").ok();
    let states: Vec<(String, String)> = listed
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|node| (node["name"].as_str().unwrap().to_owned(), node["state"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [("a", "up"), ("b", "draining"), ("c", "up")];
    assert_eq!(states, expected.map(|(name, state)| (name.to_owned(), state.to_owned())));

    let resumed = run(&["nodes", "resume", "b", "--cluster", &urls], b"");
    assert_eq!((resumed.code, resumed.stderr.as_str()), (Some(0), "b accepts sessions again\n"));
    wait_for("the node is up", || (node_state(a, "b") == "up").then_some(()));
    start(a, "text x", &json!({ "node": "b" }));
    let complaint = run(&["nodes", "drain", "nowhere", "--cluster", &urls], b"").fails(2);
    assert!(complaint.contains("nowhere"), "{complaint}");
}
