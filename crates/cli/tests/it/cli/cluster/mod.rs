//! `switchboard serve --cluster`: three nodes on three NATS servers, each with its own data directory.

mod failures;
mod steering;

use serde_json::{Value, json};
use switchboard_log_conformance::nats::{NatsServers, wait_for};

use super::serve::ServeProcess;

const NODES: [&str; 3] = ["a", "b", "c"];

/// The labels of the nodes.
const LABELS: [&str; 3] = ["linux", "linux,gpu", "gpu"];

struct TestCluster {
    nats: NatsServers,
    nodes: Vec<Option<ServeProcess>>,
}

impl TestCluster {
    /// Starts the servers and nodes, and waits until all nodes see each other. Without NATS, the test is not run.
    fn start() -> Option<Self> {
        let nats = NatsServers::replicated()?;
        let nodes = (0..NODES.len()).map(|index| Some(start_node(&nats, index, tempfile::tempdir().unwrap())));
        let cluster = Self { nodes: nodes.collect(), nats };
        for index in 0..NODES.len() {
            cluster.wait_until_up(index);
        }
        Some(cluster)
    }

    fn node(&self, index: usize) -> &ServeProcess {
        self.nodes[index].as_ref().unwrap()
    }

    /// Kills a node, and returns its directory.
    fn kill(&mut self, index: usize) -> tempfile::TempDir {
        let mut node = self.nodes[index].take().unwrap();
        node.child.kill().unwrap();
        node.child.wait().unwrap();
        std::mem::replace(&mut node.folder, tempfile::tempdir().unwrap())
    }

    fn restart(&mut self, index: usize, directory: tempfile::TempDir) {
        self.nodes[index] = Some(start_node(&self.nats, index, directory));
        self.wait_until_up(index);
    }

    /// Waits until a node sees all others.
    fn wait_until_up(&self, index: usize) {
        wait_for("all nodes are up", || {
            NODES.iter().all(|name| node_state(self.node(index), name) == "up").then_some(())
        });
    }
}

fn start_node(nats: &NatsServers, index: usize, directory: tempfile::TempDir) -> ServeProcess {
    let urls = nats.urls().join(",");
    ServeProcess::with(directory, &["--cluster", &urls, "--node", NODES[index], "--label", LABELS[index]])
}

fn call(node: &ServeProcess, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let (status, text) = node.ask(method, path, body);
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

fn node_state(node: &ServeProcess, name: &str) -> String {
    let (_, list) = call(node, "GET", "/api/nodes", None);
    let nodes = list["nodes"].as_array().cloned().unwrap_or_default();
    let found = nodes.iter().find(|node| node["name"] == name);
    found.map(|node| node["state"].as_str().unwrap().to_owned()).unwrap_or_default()
}

/// Requests a session through a node.
fn request(via: &ServeProcess, prompt: &str, config: &Value) -> (u16, Value) {
    call(via, "POST", "/api/sessions", Some(&json!({ "agentType": "script", "prompt": prompt, "config": config })))
}

fn start(via: &ServeProcess, prompt: &str, config: &Value) -> String {
    let (status, view) = request(via, prompt, config);
    assert_eq!(status, 201, "{view}");
    view["id"].as_str().unwrap().to_owned()
}

fn view(node: &ServeProcess, session: &str) -> Value {
    call(node, "GET", &format!("/api/sessions/{session}"), None).1
}

/// Waits until a node sees the end of a session, and returns its state.
fn wait_for_end(node: &ServeProcess, session: &str) -> String {
    wait_for("the session has ended", || {
        let state = view(node, session)["state"].as_str()?.to_owned();
        (state != "running").then_some(state)
    })
}

fn events(node: &ServeProcess, session: &str) -> Vec<Value> {
    let path = format!("/api/sessions/{session}/events?dialect=events&limit=5000");
    call(node, "GET", &path, None).1["events"].as_array().cloned().unwrap_or_default()
}

/// Waits until a node has the end of a session's last run, and returns its events.
fn all_events(node: &ServeProcess, session: &str) -> Vec<Value> {
    wait_for("the end has arrived", || {
        let events = events(node, session);
        (events.last()?["kind"] == "session.ended").then_some(events)
    })
}

fn has_said(node: &ServeProcess, session: &str, text: &str) -> bool {
    events(node, session).iter().any(|event| {
        let item = &event["data"]["item"];
        event["kind"] == "item.completed" && item["type"] == "agent_message" && item["text"].as_str() == Some(text)
    })
}

fn assert_dense(events: &[Value]) {
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
}
