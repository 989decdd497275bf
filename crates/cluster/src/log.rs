//! The implementation of the log's contract: blocking requests are run on the log's own runtime.

use std::{
    future::Future,
    path::Path,
    sync::{Arc, atomic::Ordering, mpsc::sync_channel},
    time::Duration,
};

use parking_lot::Mutex;
use switchboard_event::{Id, Timestamp};
use switchboard_store::{
    AbandonedSession, AgentRun, Checkpoint, CheckpointPosition, CommitWatch, EventBatch, EventRow, LogHealth,
    NewSession, PageQuery, Retention, SessionFilter, SessionLog, SessionRecord, StoreError,
};
use tokio::{runtime::Runtime, task::JoinHandle};
use tracing::{debug, warn};

use crate::{
    event_stream::EventStream,
    feed::run_feed,
    identity::NodeIdentity,
    index::{IndexChange, SessionIndex},
    membership::{Membership, NodeStatus},
    node::{ClusterNode, OPERATION_TIMEOUT},
    options::{ClusterOptions, NodeDescription},
    reader::EventReader,
    record::FrameRecord,
    sessions::ClaimCondition,
    writer::FrameWriter,
};

/// The time to write queued batches when the log is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for each further step of closing.
const CLOSE_STEP_TIMEOUT: Duration = Duration::from_secs(2);

/// The number of threads of the runtime.
const RUNTIME_THREADS: usize = 2;

/// A log on NATS JetStream that many nodes share.
pub struct ClusterLog {
    node: Arc<ClusterNode>,
    writer: Arc<FrameWriter>,
    reader: Arc<EventReader>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    runtime: Option<Runtime>,
    /// Released last.
    _identity: NodeIdentity,
}

impl ClusterLog {
    /// Joins the cluster: connects, creates the stream if necessary, and brings the index up to date.
    ///
    /// # Errors
    /// Fails if the options are invalid, the servers cannot be reached or used, or the data directory cannot be used.
    pub fn open(options: ClusterOptions) -> Result<Self, StoreError> {
        options.check()?;
        let identity = NodeIdentity::acquire(&options.data_directory)?;
        let runtime = build_runtime(&options.data_directory)?;
        let description = options.node.clone();
        let joined = run_on(&runtime, async move {
            let stream = EventStream::open(&options).await?;
            let index = SessionIndex::open(&identity.index, &stream.identity)?;
            let membership = Membership::join(stream.clone(), &identity, description).await?;
            Ok::<_, StoreError>((Arc::new(ClusterNode::new(stream, index, membership)), identity))
        })?;
        let (node, identity) = joined?;
        let (membership, renewed) = (node.membership.clone(), node.clone());
        let tasks = vec![
            runtime.spawn(run_feed(node.clone())),
            runtime.spawn(membership.run(move || announce_abandoned(&renewed))),
            runtime.spawn(remove_garbage(node.clone())),
        ];
        let log = Self {
            writer: FrameWriter::new(node.clone()),
            reader: Arc::new(EventReader::new(node.clone())),
            node,
            tasks: Mutex::new(tasks),
            runtime: Some(runtime),
            _identity: identity,
        };
        log.wait_for_first_index()?;
        Ok(log)
    }

    /// Lists all nodes that ever joined the cluster.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeStatus> {
        self.node.membership.list_nodes()
    }

    /// Changes the description of this node that others see.
    pub fn update_node(&self, change: impl FnOnce(&mut NodeDescription)) {
        self.node.membership.update(change);
    }

    /// Returns the name of this node.
    #[must_use]
    pub fn node_name(&self) -> String {
        self.node.membership.owner().name.clone()
    }

    /// Returns whether this node accepts no new sessions.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.node.membership.is_draining()
    }

    /// Returns whether the servers are reachable, as far as is known without a request.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.node.stream.is_connected() && self.node.membership.is_current()
    }

    /// Ends the membership of this process at once: others need not wait until its lease expires. Nothing is written
    /// after this.
    pub async fn leave(&self) {
        self.node.is_closing.store(true, Ordering::Relaxed);
        drop(tokio::time::timeout(CLOSE_STEP_TIMEOUT, self.node.membership.leave()).await);
    }

    pub(crate) fn stream(&self) -> &EventStream {
        &self.node.stream
    }

    /// Returns the owner number of this process.
    #[must_use]
    pub fn owner_number(&self) -> u64 {
        self.node.membership.owner().number
    }

    /// Returns the name of the node that runs a session or ran it last.
    ///
    /// # Errors
    /// Fails if there is no such session or the index cannot be read.
    pub fn session_node(&self, session: &str) -> Result<String, StoreError> {
        self.existing_record(session).map(|record| record.node().to_owned())
    }

    /// Waits until the index has everything that is in the log now.
    fn wait_for_first_index(&self) -> Result<(), StoreError> {
        let node = self.node.clone();
        self.run(async move {
            let target = node.stream.last_sequence().await?;
            node.feed_target.fetch_max(target, Ordering::Relaxed);
            node.feed_nudge.notify_one();
            // A long log takes a while, so only a lack of progress is an error.
            let mut applied = node.index.applied();
            while applied < target {
                if let Err(error) = node.wait_for_index(target).await
                    && node.index.applied() == applied
                {
                    return Err(error);
                }
                applied = node.index.applied();
            }
            Ok(())
        })
    }

    /// Runs a future on the runtime and waits for it.
    fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let runtime = self.runtime.as_ref().ok_or(StoreError::Closed)?;
        run_on(runtime, future)?
    }

    fn existing_record(&self, session: &str) -> Result<FrameRecord, StoreError> {
        self.node.index.find_record(session)?.ok_or_else(|| StoreError::NoSession(session.to_owned()))
    }

    /// Starts to remove the frames and objects of deleted sessions.
    fn start_removal(&self) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(remove_garbage(self.node.clone()));
        }
    }

    /// Deletes a session, unless it was reopened or already deleted.
    fn expire_session(&self, id: Id, ended: i64) -> Result<Option<Id>, StoreError> {
        let (node, session) = (self.node.clone(), id.clone());
        let deleted = self.run(async move {
            node.delete_session(&session, |record| !record.is_open() && record.ended.unwrap_or_default() == ended).await
        });
        match deleted {
            Ok(()) => Ok(Some(id)),
            Err(StoreError::Open(_) | StoreError::NoSession(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn to_abandoned(&self, record: &FrameRecord) -> Result<AbandonedSession, StoreError> {
        let mut runs = self.node.index.list_runs(&record.id)?;
        runs.retain(|run| run.ended.is_none());
        Ok(AbandonedSession { session: record.to_session_record(0)?, runs })
    }
}

impl SessionLog for ClusterLog {
    fn create_session(&self, session: NewSession) -> Result<(), StoreError> {
        let node = self.node.clone();
        let created = self.run(async move { node.create_session(session).await })?;
        self.writer.insert(created);
        Ok(())
    }

    fn claim_session(&self, session: &str, head: Option<u64>) -> Result<SessionRecord, StoreError> {
        let (node, id) = (self.node.clone(), Id::from(session));
        let claimed = self.run(async move { node.claim_session(&id, ClaimCondition::Continue(head)).await })?;
        let record = claimed.record.to_session_record(claimed.sequence)?;
        self.writer.insert(claimed);
        Ok(record)
    }

    fn append_batch(&self, batch: EventBatch) {
        match &self.runtime {
            Some(runtime) => self.writer.submit(runtime.handle(), batch),
            None => (batch.done)(Err(StoreError::Closed)),
        }
    }

    fn get_session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        self.node.index.find_record(id)?.map(|record| record.to_session_record(0)).transpose()
    }

    fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionRecord>, StoreError> {
        self.node.index.list_records(filter)?.iter().map(|record| record.to_session_record(0)).collect()
    }

    fn read_rows(&self, session: &str, page: PageQuery) -> Result<Vec<EventRow>, StoreError> {
        let (reader, session) = (self.reader.clone(), session.to_owned());
        self.run(async move { reader.read_rows(&session, page).await })
    }

    fn find_damaged_events(&self) -> Result<Vec<(Id, Vec<u64>)>, StoreError> {
        let mut found = Vec::new();
        for session in self.list_sessions(&SessionFilter::default())? {
            let (reader, id) = (self.reader.clone(), session.id.clone());
            let damaged = match self.run(async move { reader.find_damaged_events(&id).await }) {
                // Deleted meanwhile.
                Err(StoreError::NoSession(_)) => continue,
                damaged => damaged?,
            };
            if !damaged.is_empty() {
                found.push((session.id, damaged));
            }
        }
        Ok(found)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn check_health(&self) -> LogHealth {
        match () {
            () if self.node.index.is_failing() => LogHealth::DiskFull,
            () if self.is_available() => LogHealth::Sound,
            () => LogHealth::Unreachable,
        }
    }

    fn watch_commits(&self, notify: Box<dyn Fn() + Send>) -> Option<CommitWatch> {
        self.node.watch(notify)
    }

    fn list_runs(&self, session: &str) -> Result<Vec<AgentRun>, StoreError> {
        self.node.index.list_runs(session)
    }

    fn list_abandoned(&self) -> Result<Vec<AbandonedSession>, StoreError> {
        self.node.abandoned_records()?.iter().map(|record| self.to_abandoned(record)).collect()
    }

    fn take_over(&self) -> Result<Vec<AbandonedSession>, StoreError> {
        let mut taken = Vec::new();
        for abandoned in self.node.abandoned_records()? {
            let (node, id) = (self.node.clone(), abandoned.id.clone());
            match self.run(async move { node.claim_session(&id, ClaimCondition::Abandoned).await }) {
                Ok(claimed) => {
                    taken.push(self.to_abandoned(&claimed.record)?);
                    self.writer.insert(claimed);
                }
                // Another node was faster, or a later version wrote it.
                Err(StoreError::NotOwner(_) | StoreError::NoSession(_) | StoreError::Newer { .. }) => {}
                // The others are still abandoned, and these have to be ended.
                Err(error) if !taken.is_empty() => {
                    warn!(%error, "not all abandoned sessions could be taken over");
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    fn set_archived(&self, session: &str, archived: bool) -> Result<(), StoreError> {
        let (node, id) = (self.node.clone(), Id::from(session));
        self.run(async move { node.set_archived(&id, archived).await })
    }

    fn delete_session(&self, session: &str) -> Result<(), StoreError> {
        let (node, id) = (self.node.clone(), Id::from(session));
        self.run(async move {
            node.delete_session(&id, |record| !record.is_open() || node.membership.is_gone(&record.owner)).await
        })?;
        self.start_removal();
        Ok(())
    }

    fn reclaim_space(&self) -> Result<(), StoreError> {
        let node = self.node.clone();
        self.run(async move { node.remove_garbage().await })
    }

    fn expire_sessions(&self, retention: &Retention, now: Timestamp) -> Result<Vec<Id>, StoreError> {
        let ended = self.node.index.list_ended()?;
        let outdated = retention.count_expired(ended.iter().map(|(_, at)| *at), now);
        let mut deleted = Vec::new();
        for (index, (id, at)) in ended.into_iter().enumerate() {
            let is_too_large = |bytes| self.node.index.used_bytes().map(|used| used > bytes);
            if index >= outdated && !retention.max_bytes.map_or(Ok(false), is_too_large)? {
                break;
            }
            deleted.extend(self.expire_session(id, at)?);
        }
        if !deleted.is_empty() {
            self.start_removal();
        }
        Ok(deleted)
    }

    fn save_checkpoint(&self, session: &str, checkpoint: Checkpoint) {
        self.node.index.submit(Some(IndexChange::SaveCheckpoint(session.into(), Box::new(checkpoint))), None);
    }

    fn find_checkpoint(
        &self,
        session: &str,
        dialect: &str,
        version: &str,
        at: CheckpointPosition,
    ) -> Result<Option<Checkpoint>, StoreError> {
        self.node.index.find_checkpoint(session, dialect, version, at)
    }
}

impl Drop for ClusterLog {
    fn drop(&mut self) {
        let is_written = self.writer.wait_until_idle(CLOSE_TIMEOUT);
        self.node.is_closing.store(true, Ordering::Relaxed);
        if !is_written {
            warn!("the log was closed before everything was written");
            self.writer.wait_until_idle(OPERATION_TIMEOUT);
        }
        let tasks: Vec<_> = self.tasks.lock().drain(..).collect();
        tasks.iter().for_each(JoinHandle::abort);
        let membership = self.node.membership.clone();
        drop(self.run(async move {
            drop(tokio::time::timeout(CLOSE_STEP_TIMEOUT, membership.leave()).await);
            Ok(())
        }));
        self.node.close_watches();
        self.node.index.close();
        if let Some(runtime) = self.runtime.take() {
            // Waiting is not allowed if the log is dropped by an asynchronous task.
            runtime.shutdown_background();
        }
    }
}

impl ClusterNode {
    /// Returns the open sessions whose owner is gone.
    fn abandoned_records(&self) -> Result<Vec<FrameRecord>, StoreError> {
        let mut records = self.index.list_open_records(&self.membership.owner().incarnation)?;
        records.retain(|record| self.membership.is_gone(&record.owner));
        Ok(records)
    }
}

/// Notifies watches while there are sessions to take over.
fn announce_abandoned(node: &ClusterNode) {
    if node.abandoned_records().is_ok_and(|abandoned| !abandoned.is_empty()) {
        node.notify_watches();
    }
}

async fn remove_garbage(node: Arc<ClusterNode>) {
    if let Err(error) = node.remove_garbage().await {
        debug!(%error, "the space of deleted sessions is freed later");
    }
}

/// Builds the runtime of a connection to the servers.
pub(crate) fn build_runtime(data_directory: &Path) -> Result<Runtime, StoreError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .thread_name("log-cluster")
        .enable_all()
        .build()
        .map_err(|error| StoreError::Folder(data_directory.to_owned(), error))
}

/// Runs a future on a runtime and waits for it, also from a thread of another runtime.
pub(crate) fn run_on<T: Send + 'static>(
    runtime: &Runtime,
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T, StoreError> {
    let (send, receive) = sync_channel(1);
    runtime.spawn(async move { drop(send.send(future.await)) });
    receive.recv().map_err(|_| StoreError::Closed)
}
