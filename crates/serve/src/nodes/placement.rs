//! The choice of the node for a new session.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use axum::http::{Method, StatusCode};
use parking_lot::Mutex;
use switchboard_client::SessionView;
use switchboard_cluster::{NodeState, NodeStatus};
use switchboard_event::SessionConfig;
use switchboard_store::SessionRecord;

use super::{SessionPeer, no_node, node_gone};
use crate::{Problem, Service, requests::SessionRequest};

/// The time until nodes surely report a session that was started on them.
const PLACEMENT_AGE: Duration = Duration::from_secs(5);

/// The nodes that this server has chosen in the last seconds: they do not report these sessions yet.
#[derive(Default)]
pub struct RecentPlacements(Mutex<VecDeque<(Instant, String)>>);

impl RecentPlacements {
    fn count(&self, node: &str) -> usize {
        let mut recent = self.0.lock();
        while recent.front().is_some_and(|(at, _)| at.elapsed() > PLACEMENT_AGE) {
            recent.pop_front();
        }
        recent.iter().filter(|(_, name)| name == node).count()
    }

    fn add(&self, node: &str) {
        self.0.lock().push_back((Instant::now(), node.to_owned()));
    }
}

impl Service {
    /// Starts a new session on another node, if its settings choose one. `None` if it starts here.
    pub(crate) async fn start_elsewhere(&self, request: &SessionRequest) -> Result<Option<SessionView>, Problem> {
        let config = request.config.clone().unwrap_or_default();
        let candidates = self.choose_nodes(&config)?;
        let own = self.cluster().map(|cluster| cluster.node_name());
        let mut failure = None;
        for name in candidates {
            self.placements().add(&name);
            if Some(&name) == own.as_ref() {
                return Ok(None);
            }
            let mut forwarded = request.clone();
            forwarded.request.config = Some(SessionConfig { node: Some(name.clone()), labels: None, ..config.clone() });
            match self.forward(&SessionPeer::Node(name), Method::POST, "/api/sessions", Some(&forwarded)).await {
                // It has just ended; another node may do.
                Err(problem) if problem.code == "unreachable" && config.node.is_none() => failure = Some(problem),
                started => return started.map(Some),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    /// Returns the nodes that the settings of a new session permit, the least loaded first; none if they choose none.
    fn choose_nodes(&self, config: &SessionConfig) -> Result<Vec<String>, Problem> {
        let labels = config.labels.as_deref().unwrap_or_default();
        if config.node.is_none() && labels.is_empty() {
            return Ok(Vec::new());
        }
        let Some(cluster) = self.cluster() else {
            let field = if config.node.is_some() { "config.node" } else { "config.labels" };
            let named = config.node.clone().unwrap_or_else(|| labels.join(", "));
            return Err(Problem::bad_field(field, &format!("{named}: this server is not part of a cluster")));
        };
        let (nodes, own) = (cluster.nodes(), cluster.node_name());
        if let Some(name) = &config.node {
            let node = nodes.iter().find(|node| node.description.name == *name).ok_or_else(|| no_node(name))?;
            check_node(node, labels)?;
            return Ok(vec![name.clone()]);
        }
        let has_all = |node: &&NodeStatus| labels.iter().all(|label| node.description.labels.contains(label));
        let mut labeled: Vec<_> = nodes.iter().filter(has_all).collect();
        if labeled.is_empty() {
            let detail = format!("no node has all of the labels {}", labels.join(", "));
            return Err(Problem::conflict("no_node", detail).with_hint("GET /api/nodes lists all nodes"));
        }
        labeled.retain(|node| node.state == NodeState::Up);
        if labeled.is_empty() {
            let detail = format!("all nodes with the labels {} are draining or gone", labels.join(", "));
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "node_gone", detail));
        }
        labeled.sort_by_key(|node| {
            let name = &node.description.name;
            (node.description.sessions + self.placements().count(name), *name != own)
        });
        Ok(labeled.into_iter().map(|node| node.description.name.clone()).collect())
    }

    /// Removes the choice of a node from the settings of a session that is about to run here. Fails if it is another one.
    pub(crate) fn take_node_choice(&self, config: &mut SessionConfig) -> Result<(), Problem> {
        let chosen = self.choose_nodes(config)?;
        (config.node, config.labels) = (None, None);
        let own = self.cluster().map(|cluster| cluster.node_name()).unwrap_or_default();
        match chosen.first() {
            Some(other) if !chosen.contains(&own) => {
                let detail = format!("this operation starts sessions on node {own} only, not on {other}");
                Err(Problem::conflict("other_node", detail)
                    .with_hint("use POST /api/sessions, or connect to that node"))
            }
            _ => Ok(()),
        }
    }

    /// Removes the choice of a node from the settings of a prompt for an existing session. Fails if it is another one.
    pub(crate) fn drop_node_choice(config: &mut SessionConfig, stored: &SessionRecord) -> Result<(), Problem> {
        let (node, _) = (config.node.take(), config.labels.take());
        match node.filter(|node| stored.node.as_ref() != Some(node)) {
            None => Ok(()),
            Some(node) => {
                let home = stored.node.as_deref().unwrap_or("this server");
                let detail = format!("config.node: session {} belongs to {home} and cannot move to {node}", stored.id);
                Err(Problem::conflict("other_node", detail))
            }
        }
    }

    /// Fails if a session cannot be continued here because its agent's files are on another node.
    pub(crate) fn check_own_node(&self, stored: &SessionRecord) -> Result<(), Problem> {
        let Some(node) = self.other_node(stored) else { return Ok(()) };
        let detail = format!("session {} ran on node {node}, which has the agent's files", stored.id);
        Err(Problem::conflict("other_node", detail).with_hint("send it a prompt, or connect to that node"))
    }

    /// Continues a session that has ended on the node that has its agent's files.
    pub(crate) async fn continue_on_node(&self, node: &str, request: &SessionRequest) -> Result<SessionView, Problem> {
        let status = self.cluster().map(|cluster| cluster.nodes()).unwrap_or_default();
        let is_gone = status.iter().all(|other| other.description.name != node || other.state == NodeState::Gone);
        if is_gone {
            let hint = "the session can be continued once the node is back";
            let gone = node_gone(node);
            let detail = format!("{}; it has the agent's files of the session", gone.detail);
            return Err(Problem { detail: detail.into(), ..gone }.with_hint(hint));
        }
        self.forward(&SessionPeer::Node(node.to_owned()), Method::POST, "/api/sessions", Some(request)).await
    }

    /// Fails if this node accepts no new sessions.
    pub(crate) fn check_not_draining(&self) -> Result<(), Problem> {
        match self.cluster() {
            Some(cluster) if cluster.is_draining() => Err(draining(&cluster.node_name())),
            _ => Ok(()),
        }
    }
}

/// Fails if a node that was named cannot take the session.
fn check_node(node: &NodeStatus, labels: &[String]) -> Result<(), Problem> {
    let name = &node.description.name;
    if let Some(missing) = labels.iter().find(|label| !node.description.labels.contains(label)) {
        return Err(Problem::conflict("no_node", format!("node {name} does not have the label {missing}")));
    }
    match node.state {
        NodeState::Up => Ok(()),
        NodeState::Draining => Err(draining(name)),
        NodeState::Gone => Err(node_gone(name)),
    }
}

fn draining(name: &str) -> Problem {
    let detail = format!("node {name} is draining and accepts no new sessions");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "draining", detail).with_hint("choose another node")
}
