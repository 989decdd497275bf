//! The nodes of the cluster. Every process renews a lease; one without a lease seems to be gone, and its sessions may be
//! taken over. Leases only say who seems gone: the log itself refuses the frames of an owner that lost a session.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use async_nats::jetstream::message::StreamMessage;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use switchboard_store::StoreError;
use tokio::sync::Notify;
use tracing::{debug, info};

use crate::{
    event_stream::{EventStream, LEASE_TTL, Unavailable},
    identity::NodeIdentity,
    options::NodeDescription,
    record::FrameOwner,
};

/// The interval between renewals of the lease.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(3);

/// The interval after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time between two successful renewals during which the bucket counts as available.
const MAX_RENEWAL_GAP: Duration = Duration::from_secs(8);

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// It accepts sessions.
    Up,
    /// It accepts no new sessions; running ones finish.
    Draining,
    /// It has ended or cannot reach the log.
    Gone,
}

/// A node as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The state.
    pub state: NodeState,
    /// The version of Switchboard.
    pub version: String,
    /// The numbers of its processes in [`SessionRecord::owner`](switchboard_store::SessionRecord::owner) that are alive.
    pub owners: Vec<u64>,
    /// The description.
    pub description: NodeDescription,
}

/// The value of a lease, and of the node's entry in the list of all nodes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct NodeLease {
    name: String,
    node: String,
    slot: u32,
    incarnation: String,
    #[serde(default)]
    number: u64,
    #[serde(default)]
    version: String,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    agents: Vec<String>,
    #[serde(default)]
    sessions: usize,
    #[serde(default)]
    is_draining: bool,
    #[serde(default)]
    address: Option<String>,
}

/// The leases as last read.
#[derive(Default)]
struct LeaseView {
    /// The time since which the bucket was available without interruption.
    available_since: Option<Instant>,
    last_success: Option<Instant>,
    present: HashMap<String, NodeLease>,
    /// Processes that ended their lease themselves.
    ended: HashSet<String>,
    /// The last process of every node, by name.
    known: BTreeMap<String, NodeLease>,
}

/// The membership of this process, and its view of the others.
pub struct Membership {
    stream: EventStream,
    owner: FrameOwner,
    description: Mutex<NodeDescription>,
    view: Mutex<LeaseView>,
    changed: Notify,
    has_left: AtomicBool,
}

impl Membership {
    /// Registers this process, and reads the leases once.
    pub async fn join(
        stream: EventStream,
        identity: &NodeIdentity,
        description: NodeDescription,
    ) -> Result<Arc<Self>, StoreError> {
        for (key, message) in stream.bucket_entries(&stream.leases).await? {
            let Some(lease) = parse_lease(&message) else { continue };
            if lease.node == identity.node && lease.slot == identity.slot {
                // This process holds the lock of the slot, so that one has ended.
                end_lease(&stream, &key).await?;
            } else if lease.node != identity.node && lease.name == description.name {
                return Err(StoreError::Cluster(format!(
                    "another node is called {:?}: choose another name",
                    lease.name
                )));
            }
        }
        let mut owner = FrameOwner {
            number: 0,
            node: identity.node.clone(),
            slot: identity.slot,
            incarnation: identity.incarnation.clone(),
            name: description.name.clone(),
        };
        let lease = to_lease(&owner, &description);
        owner.number = put_lease(&stream, true, &lease).await?;
        let membership = Self {
            stream,
            owner,
            description: Mutex::new(description),
            view: Mutex::default(),
            changed: Notify::new(),
            has_left: AtomicBool::new(false),
        };
        membership.renew().await?;
        Ok(Arc::new(membership))
    }

    /// Reads the leases once, without one of its own. An observer decides nothing, so a node without a lease counts as
    /// gone at once.
    pub async fn observe(stream: EventStream) -> Result<Arc<Self>, StoreError> {
        let membership = Self {
            stream,
            owner: FrameOwner::default(),
            description: Mutex::default(),
            view: Mutex::default(),
            changed: Notify::new(),
            has_left: AtomicBool::new(false),
        };
        membership.update_view(None).await?;
        membership.view.lock().available_since = Instant::now().checked_sub(LEASE_TTL);
        Ok(Arc::new(membership))
    }

    pub fn owner(&self) -> &FrameOwner {
        &self.owner
    }

    /// Changes the description of this node.
    pub fn update(&self, change: impl FnOnce(&mut NodeDescription)) {
        let mut description = self.description.lock();
        let before = description.clone();
        change(&mut description);
        description.name.clone_from(&before.name);
        if *description != before {
            self.changed.notify_one();
        }
    }

    pub fn is_draining(&self) -> bool {
        self.description.lock().is_draining
    }

    /// Returns whether the lease was renewed recently.
    pub fn is_current(&self) -> bool {
        self.view.lock().last_success.is_some_and(|last| last.elapsed() < MAX_RENEWAL_GAP)
    }

    /// Returns whether the process that owns a session seems to be gone. Without a lease it is, once the bucket has
    /// been available for as long as leases last: otherwise its lease may be missing because none could be renewed.
    pub fn is_gone(&self, owner: &FrameOwner) -> bool {
        if owner.incarnation == self.owner.incarnation {
            return false;
        }
        if owner.node == self.owner.node && owner.slot == self.owner.slot {
            return true;
        }
        let view = self.view.lock();
        if view.ended.contains(&owner.incarnation) {
            return true;
        }
        let is_available = view.last_success.is_some_and(|last| last.elapsed() < MAX_RENEWAL_GAP)
            && view.available_since.is_some_and(|since| since.elapsed() >= LEASE_TTL);
        is_available && !view.present.contains_key(&owner.incarnation)
    }

    /// Lists all nodes, including those that are gone.
    pub fn list_nodes(&self) -> Vec<NodeStatus> {
        let (present, known) = {
            let view = self.view.lock();
            (view.present.values().cloned().collect::<Vec<_>>(), view.known.clone())
        };
        let status = |(name, last): (String, NodeLease)| {
            let processes: Vec<_> = present.iter().filter(|lease| lease.name == name).collect();
            // The process that was started first describes the node; others may only have joined for a command.
            let lease = processes.iter().min_by_key(|lease| lease.slot).map_or(&last, |lease| *lease);
            let state = match processes.is_empty() {
                true if self.is_gone(&to_owner(&last)) => NodeState::Gone,
                _ if lease.is_draining => NodeState::Draining,
                _ => NodeState::Up,
            };
            NodeStatus {
                state,
                version: lease.version.clone(),
                owners: processes.iter().map(|lease| lease.number).collect(),
                description: NodeDescription {
                    name,
                    labels: lease.labels.clone(),
                    agents: lease.agents.clone(),
                    sessions: processes.iter().map(|lease| lease.sessions).sum(),
                    is_draining: lease.is_draining,
                    address: lease.address.clone(),
                },
            }
        };
        known.into_iter().map(status).collect()
    }

    /// Renews the lease from time to time, and calls a function after each attempt.
    pub async fn run(self: Arc<Self>, after_renewal: impl Fn()) {
        while !self.has_left.load(Ordering::Relaxed) {
            let interval = match self.renew().await {
                Ok(()) => RENEWAL_INTERVAL,
                Err(error) => {
                    debug!(error = error.0, "the lease was not renewed");
                    self.view.lock().available_since = None;
                    RETRY_INTERVAL
                }
            };
            after_renewal();
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep(interval) => {}
            }
        }
    }

    /// Ends the lease, so that others need not wait until it expires.
    pub async fn leave(&self) -> Result<(), Unavailable> {
        self.has_left.store(true, Ordering::Relaxed);
        end_lease(&self.stream, &self.owner.incarnation).await
    }

    /// Renews the lease and reads all others. Both are confirmed by the leader, so a replica that is cut off does not
    /// make others seem gone.
    async fn renew(&self) -> Result<(), Unavailable> {
        let lease = to_lease(&self.owner, &self.description.lock().clone());
        let revision = put_lease(&self.stream, false, &lease).await?;
        let is_registered = {
            let view = self.view.lock();
            view.known.get(&lease.name).is_some_and(|known| is_same_description(known, &lease))
        };
        if !is_registered {
            put_lease(&self.stream, true, &lease).await?;
        }
        self.update_view(Some(revision)).await
    }

    /// Reads all leases, which must include the own one, if its revision is given.
    async fn update_view(&self, revision: Option<u64>) -> Result<(), Unavailable> {
        let leases = self.stream.bucket_entries(&self.stream.leases).await?;
        let nodes = self.stream.bucket_entries(&self.stream.nodes).await?;
        let is_own = |(key, message): &(String, StreamMessage), revision| {
            *key == self.owner.incarnation && message.sequence >= revision
        };
        if revision.is_some_and(|revision| !leases.iter().any(|entry| is_own(entry, revision))) {
            return Err(Unavailable("the own lease is not visible".to_owned()));
        }
        let (mut present, mut ended) = (HashMap::new(), HashSet::new());
        for (key, message) in leases {
            match parse_lease(&message) {
                Some(lease) => drop(present.insert(key, lease)),
                None => drop(ended.insert(key)),
            }
        }
        let known = nodes.iter().filter_map(|(name, message)| Some((name.clone(), parse_lease(message)?))).collect();
        let mut view = self.view.lock();
        let now = Instant::now();
        let was_interrupted = view.last_success.is_none_or(|last| now.duration_since(last) > MAX_RENEWAL_GAP);
        if was_interrupted || view.available_since.is_none() {
            view.available_since = Some(now);
        }
        for (incarnation, lease) in &view.present {
            if !present.contains_key(incarnation) {
                info!(node = lease.name, "the lease of a node has ended");
            }
        }
        // The bucket forgets after a while which leases were ended; the processes stay ended.
        let ended = view.ended.drain().chain(ended).filter(|incarnation| !present.contains_key(incarnation)).collect();
        *view = LeaseView { last_success: Some(now), present, ended, known, available_since: view.available_since };
        Ok(())
    }
}

fn to_lease(owner: &FrameOwner, description: &NodeDescription) -> NodeLease {
    NodeLease {
        name: owner.name.clone(),
        node: owner.node.clone(),
        slot: owner.slot,
        incarnation: owner.incarnation.clone(),
        number: owner.number,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        labels: description.labels.clone(),
        agents: description.agents.clone(),
        sessions: description.sessions,
        is_draining: description.is_draining,
        address: description.address.clone(),
    }
}

fn to_owner(lease: &NodeLease) -> FrameOwner {
    FrameOwner {
        number: lease.number,
        node: lease.node.clone(),
        slot: lease.slot,
        incarnation: lease.incarnation.clone(),
        name: lease.name.clone(),
    }
}

/// Returns whether a node's entry need not be written again. A process in a later slot does not replace the first one.
fn is_same_description(known: &NodeLease, lease: &NodeLease) -> bool {
    let is_earlier_slot = known.node == lease.node && known.slot < lease.slot;
    let same = known.incarnation == lease.incarnation && known.labels == lease.labels && known.agents == lease.agents;
    is_earlier_slot || same && known.address == lease.address && known.is_draining == lease.is_draining
}

/// Parses the value of an entry. Returns `None` for the marker of a deleted one.
fn parse_lease(message: &StreamMessage) -> Option<NodeLease> {
    let is_marker = message.headers.get("KV-Operation").is_some();
    if is_marker { None } else { serde_json::from_slice(&message.payload).ok() }
}

/// Writes the lease, or the entry in the list of all nodes. Returns the revision.
async fn put_lease(stream: &EventStream, in_list: bool, lease: &NodeLease) -> Result<u64, Unavailable> {
    let value = serde_json::to_vec(lease).map_err(|error| Unavailable(error.to_string()))?;
    let (bucket, key) = if in_list { (&stream.nodes, &lease.name) } else { (&stream.leases, &lease.incarnation) };
    bucket.put(key, value.into()).await.map_err(|error| Unavailable(error.to_string()))
}

async fn end_lease(stream: &EventStream, incarnation: &str) -> Result<(), Unavailable> {
    stream.leases.delete(incarnation).await.map_err(|error| Unavailable(error.to_string()))
}
