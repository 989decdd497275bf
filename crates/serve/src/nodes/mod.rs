//! The nodes of a cluster: requests between their processes, the choice of a node for a session, and the duties of a
//! node. Without a cluster, other processes are only those that share the data directory.

mod placement;
mod requests;
mod upkeep;

use std::{path::PathBuf, time::Duration};

use axum::http::{Method, StatusCode};
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use switchboard_client::{NodeStateView, NodeView};
use switchboard_cluster::{ClusterLog, NodeRequest, NodeState, NodeStatus, RequestError, RequestTarget};
use switchboard_store::SessionRecord;

use crate::{Problem, Service, extract, private_socket, private_socket::PeerResponse};

pub use placement::RecentPlacements;
pub use upkeep::NodeUpkeep;

/// How long a command may wait for a log on other machines.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(15);

/// Another process that runs sessions of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionPeer {
    /// A process that shares the data directory, with this socket.
    Socket(PathBuf),
    /// A process of the cluster, with this owner number.
    Process(u64),
    /// The server of a node of the cluster.
    Node(String),
}

impl Service {
    /// Returns the log that this server shares with other nodes, if there is one.
    #[must_use]
    pub fn cluster(&self) -> Option<&ClusterLog> {
        self.config().cluster.as_deref()
    }

    /// Returns another process by its number among the owners of sessions.
    pub(crate) fn peer(&self, owner: u64) -> SessionPeer {
        match self.cluster() {
            Some(_) => SessionPeer::Process(owner),
            None => SessionPeer::Socket(self.owner_socket(owner)),
        }
    }

    /// Returns the node that has the agent's files of a session, if it is not this one.
    pub(crate) fn other_node(&self, stored: &SessionRecord) -> Option<String> {
        let own = self.cluster()?.node_name();
        stored.node.clone().filter(|node| *node != own)
    }

    /// Forwards a request to another process.
    pub(crate) async fn forward<T: DeserializeOwned>(
        &self,
        peer: &SessionPeer,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, Problem> {
        let body = body.map(serde_json::to_vec).transpose().map_err(|error| unreachable_problem(&error.to_string()))?;
        let body = body.map(Bytes::from);
        let response = match peer {
            SessionPeer::Socket(socket) => private_socket::send_request(socket, &method, path, body).await?,
            SessionPeer::Process(number) => {
                self.send_to_node(&RequestTarget::Owner(*number), &method, path, body).await?
            }
            SessionPeer::Node(name) => {
                self.send_to_node(&RequestTarget::Node(name.clone()), &method, path, body).await?
            }
        };
        let PeerResponse { status, body } = response;
        if (200..300).contains(&status) {
            // An empty response is valid where the type is optional.
            let body = if body.is_empty() { Bytes::from_static(b"null") } else { body };
            return serde_json::from_slice(&body).map_err(|error| unreachable_problem(&error.to_string()));
        }
        Err(extract::parse_json(&body).unwrap_or_else(|_| unreachable_problem(&format!("status {status}"))))
    }

    async fn send_to_node(
        &self,
        target: &RequestTarget,
        method: &Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<PeerResponse, Problem> {
        let Some(cluster) = self.cluster() else { return Err(unreachable_problem("there is no cluster")) };
        let request = NodeRequest { method: method.to_string(), path: path.to_owned(), body: body.unwrap_or_default() };
        match cluster.send_request(target, request).await {
            Ok(response) => Ok(PeerResponse { status: response.status, body: response.body }),
            Err(error) => Err(self.explain_request_error(cluster, target, &error)),
        }
    }

    fn explain_request_error(&self, cluster: &ClusterLog, target: &RequestTarget, error: &RequestError) -> Problem {
        let node = match target {
            RequestTarget::Node(name) => Some(name.clone()),
            RequestTarget::Owner(number) => {
                let is_owner = |node: &NodeStatus| node.owners.contains(number);
                cluster.nodes().into_iter().find(is_owner).map(|node| node.description.name)
            }
        };
        let name = node.map_or_else(|| "the node that runs the session".to_owned(), |node| format!("node {node}"));
        match error {
            RequestError::Unavailable(cause) => log_unreachable(cause),
            RequestError::TooLarge(_) => {
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("{name}: {error}"))
            }
            RequestError::NoResponder | RequestError::TimedOut => {
                let problem = unreachable_problem(&format!("{name}: {error}"));
                problem.with_hint("its sessions are ended by another node within 30 seconds if it is gone")
            }
        }
    }

    /// Waits for a command to a session of this process. Fails if it takes too long because the log cannot be reached.
    pub(crate) async fn wait_for_command<T>(&self, command: impl Future<Output = T>) -> Result<T, Problem> {
        if self.cluster().is_none() {
            return Ok(command.await);
        }
        let timed_out = |_| log_unreachable("the command could not be written in time");
        tokio::time::timeout(COMMAND_TIMEOUT, command).await.map_err(timed_out)
    }

    /// Fails if the log of a cluster cannot be written now.
    pub(crate) fn check_log_available(&self) -> Result<(), Problem> {
        match self.cluster() {
            Some(cluster) if !cluster.is_available() => Err(log_unreachable("NATS cannot be reached")),
            _ => Ok(()),
        }
    }

    /// Lists the nodes of the cluster.
    pub(crate) fn list_nodes(&self) -> Vec<NodeView> {
        let nodes = self.cluster().map(ClusterLog::nodes).unwrap_or_default();
        nodes.into_iter().map(node_view).collect()
    }

    /// Lets a node accept no new sessions, or again.
    pub(crate) async fn set_draining(&self, name: &str, draining: bool) -> Result<NodeView, Problem> {
        let cluster = self.cluster().ok_or_else(|| no_node(name))?;
        if name == cluster.node_name() {
            cluster.update_node(|node| node.is_draining = draining);
            let state = if draining { NodeStateView::Draining } else { NodeStateView::Up };
            let own = self.list_nodes().into_iter().find(|node| node.name == name);
            return own.map(|own| NodeView { state, ..own }).ok_or_else(|| no_node(name));
        }
        let known = cluster.nodes().into_iter().find(|node| node.description.name == name);
        match known.ok_or_else(|| no_node(name))?.state {
            NodeState::Gone => Err(node_gone(name)),
            NodeState::Up | NodeState::Draining => {
                let operation = if draining { "drain" } else { "resume" };
                let path = format!("/api/nodes/{name}/{operation}");
                self.forward(&SessionPeer::Node(name.to_owned()), Method::POST, &path, None::<&()>).await
            }
        }
    }
}

/// Returns a node as clients see it.
#[must_use]
pub fn node_view(status: NodeStatus) -> NodeView {
    NodeView {
        state: match status.state {
            NodeState::Up => NodeStateView::Up,
            NodeState::Draining => NodeStateView::Draining,
            NodeState::Gone => NodeStateView::Gone,
        },
        version: status.version,
        name: status.description.name,
        labels: status.description.labels,
        agents: status.description.agents,
        sessions: status.description.sessions,
    }
}

pub(crate) fn no_node(name: &str) -> Problem {
    let problem = Problem::new(StatusCode::NOT_FOUND, "no_node", format!("no node {name}"));
    problem.with_hint("GET /api/nodes lists all nodes")
}

pub(crate) fn node_gone(name: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "node_gone", format!("node {name} is gone: it cannot be reached"))
}

fn log_unreachable(cause: &str) -> Problem {
    let detail = format!("the log on NATS is not available: {cause}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "log_unreachable", detail)
}

/// The process that a request was forwarded to does not respond.
pub(crate) fn unreachable_problem(cause: &str) -> Problem {
    let detail = format!("the process that runs the session does not respond: {cause}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unreachable", detail)
}
