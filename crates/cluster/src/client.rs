//! A client of a cluster that is not a node itself: it sees the nodes and sends them requests, and holds no lease.

use std::sync::Arc;

use switchboard_store::StoreError;
use tokio::runtime::Runtime;

use crate::{
    event_stream::EventStream,
    log::{build_runtime, run_on},
    membership::{Membership, NodeStatus},
    options::ClusterOptions,
    requests::{NodeRequest, NodeResponse, RequestError, RequestTarget, send_request},
};

/// A client of a cluster.
pub struct ClusterClient {
    stream: EventStream,
    membership: Arc<Membership>,
    runtime: Runtime,
}

impl ClusterClient {
    /// Connects to the servers. The description of the node in the options only needs a name.
    ///
    /// # Errors
    /// Fails if the options are invalid, or the servers cannot be reached or used.
    pub fn connect(options: ClusterOptions) -> Result<Self, StoreError> {
        options.check()?;
        let runtime = build_runtime(&options.data_directory)?;
        let (stream, membership) = run_on(&runtime, async move {
            let stream = EventStream::open(&options).await?;
            let membership = Membership::observe(stream.clone()).await?;
            Ok::<_, StoreError>((stream, membership))
        })??;
        Ok(Self { stream, membership, runtime })
    }

    /// Lists all nodes that ever joined the cluster. Those without a lease count as gone.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeStatus> {
        self.membership.list_nodes()
    }

    /// Sends a request to a node and waits for the response.
    ///
    /// # Errors
    /// Fails at once if the node does not listen, and if the response does not arrive in time.
    pub fn send_request(&self, target: RequestTarget, request: NodeRequest) -> Result<NodeResponse, RequestError> {
        let stream = self.stream.clone();
        let sent = run_on(&self.runtime, async move { send_request(&stream, &target, request).await });
        sent.unwrap_or_else(|error| Err(RequestError::Unavailable(error.to_string())))
    }
}
