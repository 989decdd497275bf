//! The duties of a node: it describes itself to the others, ends the sessions of nodes that are gone, and stops its own
//! agents if it cannot reach the log for too long.

use std::time::{Duration, Instant};

use switchboard_store::StoreError;
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::{MissedTickBehavior, interval},
};
use tracing::warn;

use crate::Service;

const UPKEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The interval between two checks for newly installed agents.
const INVENTORY_INTERVAL: Duration = Duration::from_secs(60);

/// The upkeep of a node, until it is dropped.
pub struct NodeUpkeep(JoinHandle<()>);

impl Drop for NodeUpkeep {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Service {
    /// Starts the upkeep of this node. Does nothing without a cluster.
    #[must_use]
    pub fn maintain_node(&self, isolation_timeout: Duration) -> Option<NodeUpkeep> {
        self.cluster()?;
        let upkeep = UpkeepState {
            service: self.clone(),
            isolation_timeout,
            isolated_since: None,
            inventoried_at: None,
            recovery: None,
        };
        Some(NodeUpkeep(tokio::spawn(upkeep.run())))
    }
}

struct UpkeepState {
    service: Service,
    isolation_timeout: Duration,
    /// The time since which the log cannot be reached.
    isolated_since: Option<Instant>,
    inventoried_at: Option<Instant>,
    /// The end of other nodes' sessions, which takes a while if they are long.
    recovery: Option<JoinHandle<()>>,
}

impl UpkeepState {
    async fn run(mut self) {
        let mut ticks = interval(UPKEEP_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.describe_node().await;
            if self.is_isolated() {
                self.service.engine().stop_isolated_sessions();
            } else {
                self.recover_sessions();
            }
        }
    }

    /// Publishes what this node runs and has.
    async fn describe_node(&mut self) {
        let Some(cluster) = self.service.cluster() else { return };
        let sessions = self.service.engine().sessions().len();
        cluster.update_node(|node| node.sessions = sessions);
        if self.inventoried_at.is_none_or(|at| at.elapsed() >= INVENTORY_INTERVAL) {
            self.inventoried_at = Some(Instant::now());
            let agents = self.service.agents().installed_names().await;
            cluster.update_node(|node| node.agents = agents);
        }
    }

    /// Returns whether the log cannot be reached for too long.
    fn is_isolated(&mut self) -> bool {
        if self.service.check_log_available().is_ok() {
            self.isolated_since = None;
            return false;
        }
        let since = *self.isolated_since.get_or_insert_with(Instant::now);
        since.elapsed() >= self.isolation_timeout
    }

    /// Ends the sessions of nodes that are gone.
    fn recover_sessions(&mut self) {
        if self.isolated_since.is_some() || self.recovery.as_ref().is_some_and(|recovery| !recovery.is_finished()) {
            return;
        }
        let engine = self.service.engine().clone();
        self.recovery = Some(spawn_blocking(move || {
            let recovered = match engine.log().list_abandoned() {
                Ok(abandoned) if abandoned.is_empty() => return,
                Ok(_) => engine.recover_sessions().map(drop),
                Err(error) => Err(error.into()),
            };
            match recovered {
                Err(switchboard_engine::StartError::Store(StoreError::Unreachable(_))) | Ok(()) => {}
                Err(error) => warn!(%error, "sessions of nodes that are gone could not be ended"),
            }
        }));
    }
}
