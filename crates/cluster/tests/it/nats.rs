//! Logs on NATS servers on loopback.

use std::{
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicU32, Ordering},
};

use switchboard_cluster::{ClusterLog, ClusterOptions, NodeDescription};
use switchboard_log_conformance::{LogStorage, nats::NatsServers};
use switchboard_store::SessionLog;

pub use switchboard_log_conformance::nats::wait_for;

/// Servers, and the data directories of nodes.
pub struct NatsCluster {
    nats: NatsServers,
    nodes: AtomicU32,
    prefix: String,
}

impl Deref for NatsCluster {
    type Target = NatsServers;

    fn deref(&self) -> &NatsServers {
        &self.nats
    }
}

impl DerefMut for NatsCluster {
    fn deref_mut(&mut self) -> &mut NatsServers {
        &mut self.nats
    }
}

impl NatsCluster {
    fn new(nats: NatsServers) -> Self {
        Self { nats, nodes: AtomicU32::new(0), prefix: String::new() }
    }

    /// Starts one server.
    pub fn single() -> Option<Self> {
        Self::single_with("")
    }

    /// Starts one server with additional configuration.
    pub fn single_with(config: &str) -> Option<Self> {
        NatsServers::single(config).map(Self::new)
    }

    /// Starts three servers that form a cluster.
    pub fn replicated() -> Option<Self> {
        NatsServers::replicated().map(Self::new)
    }

    /// Uses another log on the same servers from now on.
    pub fn set_prefix(&mut self, prefix: &str) {
        prefix.clone_into(&mut self.prefix);
    }

    pub fn options(&self, name: &str) -> ClusterOptions {
        ClusterOptions {
            servers: self.urls(),
            prefix: self.prefix.clone(),
            data_directory: self.directory.path().join(format!("{}-{name}", self.prefix)),
            node: NodeDescription { name: name.to_owned(), ..NodeDescription::default() },
            ..ClusterOptions::default()
        }
    }

    /// Opens the log as a node.
    pub fn open(&self, name: &str) -> ClusterLog {
        ClusterLog::open(self.options(name)).unwrap()
    }
}

impl LogStorage for NatsCluster {
    fn open_log(&self) -> Box<dyn SessionLog> {
        let number = self.nodes.fetch_add(1, Ordering::Relaxed);
        Box::new(self.open(&format!("node-{number}")))
    }
}
