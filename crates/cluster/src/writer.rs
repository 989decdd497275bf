//! Appends the batches of this node's sessions. Every session has one frame in flight; batches that are queued meanwhile
//! become the next frame, so throughput rises with the load.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use parking_lot::{Condvar, Mutex};
use switchboard_event::Id;
use switchboard_store::{CommitCallback, EventBatch, SessionPatch, StoreError};
use tokio::{runtime::Handle, time::sleep};

use crate::{
    frame::{FrameBuilder, FrameDraft, FrameEvents, FrameSummary, MAX_FRAME_BYTES, object_name},
    index::{IndexCallback, IndexChange, StoredFrame},
    node::{AppendOutcome, ClusterNode, LastFrame, RETRY_INTERVAL},
    record::{FrameRecord, FrameRun},
};

/// The size of events beyond which no further batch joins a frame.
const MAX_JOINED_BYTES: usize = 1 << 20;

/// A session of this process after its last frame.
#[derive(Clone, Debug)]
pub struct OwnedSession {
    pub record: FrameRecord,
    /// The stream sequence of the last frame, and its hash.
    pub sequence: u64,
    pub hash: String,
}

/// The queue of a session.
#[derive(Default)]
struct SessionQueue {
    batches: VecDeque<EventBatch>,
    /// The session, if it is known and no frame is in flight.
    session: Option<OwnedSession>,
    is_running: bool,
}

#[derive(Default)]
struct Queues {
    sessions: HashMap<Id, SessionQueue>,
    running: usize,
}

/// The queues of all sessions.
pub struct FrameWriter {
    node: Arc<ClusterNode>,
    queues: Mutex<Queues>,
    idle: Condvar,
}

/// Batches that become one frame, in order: each with its callback and the error of a refused one.
type BatchOutcomes = Vec<(CommitCallback, Option<StoreError>)>;

impl FrameWriter {
    pub fn new(node: Arc<ClusterNode>) -> Arc<Self> {
        Arc::new(Self { node, queues: Mutex::default(), idle: Condvar::new() })
    }

    /// Queues a batch.
    pub fn submit(self: &Arc<Self>, runtime: &Handle, batch: EventBatch) {
        let session = batch.session.clone();
        let mut queues = self.queues.lock();
        let queue = queues.sessions.entry(session.clone()).or_default();
        queue.batches.push_back(batch);
        if !queue.is_running {
            queue.is_running = true;
            queues.running += 1;
            runtime.spawn(self.clone().run_session(session));
        }
    }

    /// Remembers a session that was created or claimed.
    pub fn insert(&self, session: OwnedSession) {
        let mut queues = self.queues.lock();
        let queue = queues.sessions.entry(session.record.id.clone()).or_default();
        // A running queue notices that its session was claimed anew, and reads it again.
        if !queue.is_running {
            queue.session = Some(session);
        }
    }

    /// Waits until no batch is queued. Returns whether that happened in time.
    pub fn wait_until_idle(&self, limit: Duration) -> bool {
        let mut queues = self.queues.lock();
        !self.idle.wait_while_for(&mut queues, |queues| queues.running > 0, limit).timed_out()
    }

    /// Writes the queue of a session until it is empty.
    async fn run_session(self: Arc<Self>, id: Id) {
        let mut session = self.queues.lock().sessions.get_mut(&id).and_then(|queue| queue.session.take());
        while let Some(batches) = self.next_batches(&id, &mut session) {
            if session.is_none() {
                match self.load_session(&id).await {
                    Ok(loaded) => session = Some(loaded),
                    Err(error) => {
                        let outcomes = batches.into_iter().map(|batch| (batch.done, None)).collect();
                        self.refuse(outcomes, &error);
                        continue;
                    }
                }
            }
            if let Some(current) = session.take() {
                session = self.write_batches(current, batches).await;
            }
        }
    }

    /// Takes batches for one frame. Puts the session back if there are none.
    fn next_batches(&self, id: &Id, session: &mut Option<OwnedSession>) -> Option<Vec<EventBatch>> {
        let mut queues = self.queues.lock();
        let queue = queues.sessions.get_mut(id)?;
        if queue.batches.is_empty() {
            queue.is_running = false;
            queue.session = session.take();
            // A session that has ended is read from the log again if it is needed.
            if queue.session.as_ref().is_none_or(|session| !session.record.is_open()) {
                queues.sessions.remove(id);
            }
            queues.running -= 1;
            self.idle.notify_all();
            return None;
        }
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while bytes < MAX_JOINED_BYTES {
            let Some(batch) = queue.batches.pop_front() else { break };
            bytes += batch.events.json_len();
            batches.push(batch);
        }
        Some(batches)
    }

    fn put_back(&self, id: &Id, batches: Vec<EventBatch>) {
        let mut queues = self.queues.lock();
        if let Some(queue) = queues.sessions.get_mut(id) {
            batches.into_iter().rev().for_each(|batch| queue.batches.push_front(batch));
        }
    }

    /// Reads a session of this process from the log. Retries while the servers are away.
    async fn load_session(&self, id: &Id) -> Result<OwnedSession, StoreError> {
        loop {
            match self.node.existing_frame(id).await {
                Ok(last) if last.frame.record().owner.incarnation != self.node.membership.owner().incarnation => {
                    return Err(StoreError::NotOwner(id.clone()));
                }
                Ok(last) => return Ok(to_owned_session(last)),
                Err(StoreError::Unreachable(_)) if !self.node.is_closing() => sleep(RETRY_INTERVAL).await,
                Err(StoreError::Unreachable(_)) => return Err(StoreError::Closed),
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes batches as one frame. Returns the session after it, unless it was lost.
    async fn write_batches(&self, session: OwnedSession, mut batches: Vec<EventBatch>) -> Option<OwnedSession> {
        let id = session.record.id.clone();
        let mut record = session.record.clone();
        let (mut builder, mut runs, mut accepted, mut refusals) = (FrameBuilder::default(), Vec::new(), 0, Vec::new());
        for batch in &batches {
            let refusal = record.apply_batch(&batch.events, &batch.update).err();
            if refusal.is_none() {
                builder.push(&batch.events);
                runs.extend(batch.update.run.as_ref().map(FrameRun::from));
                accepted += usize::from(!batch.events.is_empty() || changes_session(&batch.update));
            }
            refusals.push(refusal);
        }
        if accepted == 0 {
            let outcomes = batches.into_iter().zip(refusals).map(|(batch, refusal)| (batch.done, refusal)).collect();
            self.complete(outcomes, None);
            return Some(session);
        }
        let (events, kinds) = match builder.finish(&id) {
            Ok(finished) => finished,
            Err(error) => {
                self.refuse(batches.into_iter().zip(refusals).map(|(batch, own)| (batch.done, own)).collect(), &error);
                return None;
            }
        };
        if events.len() > MAX_FRAME_BYTES && batches.len() > 1 {
            let rest = batches.split_off(batches.len().div_ceil(2));
            self.put_back(&id, rest);
            return Box::pin(self.write_batches(session, batches)).await;
        }
        let outcomes = batches.into_iter().zip(refusals).map(|(batch, refusal)| (batch.done, refusal)).collect();
        record.revision += 1;
        let summary = FrameSummary { record, runs, kinds, nonce: new_nonce() };
        match self.commit(session, summary, events).await {
            Ok((session, stored)) => {
                self.complete(outcomes, stored);
                Some(session)
            }
            Err(error) => {
                self.refuse(outcomes, &error);
                None
            }
        }
    }

    /// Appends a frame, however often it takes. Returns the session after it, and the frame for the index.
    async fn commit(
        &self,
        session: OwnedSession,
        mut summary: FrameSummary,
        events: bytes::Bytes,
    ) -> Result<(OwnedSession, Option<StoredFrame>), StoreError> {
        self.node.store_texts(&mut summary.record, None).await?;
        let first = session.record.head + 1;
        let events = if events.len() > MAX_FRAME_BYTES {
            let name = object_name(&summary.record.id, &events);
            self.node.store_object(&name, &events, None).await?;
            FrameEvents::Object(name)
        } else {
            FrameEvents::Inline(events)
        };
        let mut draft = FrameDraft { summary, first, events };
        let (mut expected, mut previous) = (session.sequence, session.hash);
        let id = draft.summary.record.id.clone();
        loop {
            let (outcome, hash) = match self.node.append_frame(&draft, expected, &previous, None).await {
                Ok(outcome) => outcome,
                Err(error) => return Err(self.forget_object(&draft, error).await),
            };
            let last = match outcome {
                AppendOutcome::Committed(sequence) => {
                    let stored = StoredFrame { sequence, frame: draft.to_frame(&previous, &hash) };
                    let session = OwnedSession { record: draft.summary.record, sequence, hash };
                    return Ok((session, Some(stored)));
                }
                AppendOutcome::Conflict(last) => last,
            };
            let Some(last) = last.filter(|last| !last.frame.record().deleted) else {
                return Err(self.forget_object(&draft, StoreError::NoSession(id.to_string())).await);
            };
            let (found, own) = (last.frame.record(), &mut draft.summary.record);
            if found.owner.incarnation != own.owner.incarnation || found.epoch != own.epoch {
                return Err(self.forget_object(&draft, StoreError::NotOwner(id)).await);
            }
            own.archived = found.archived;
            if found.revision >= own.revision {
                // The acknowledgment was lost, and then another node archived the session.
                while let Err(StoreError::Unreachable(_)) = self.node.wait_for_index(last.sequence).await {}
                let session =
                    OwnedSession { record: draft.summary.record, sequence: last.sequence, hash: last.frame.hash };
                return Ok((session, None));
            }
            (expected, previous) = (last.sequence, last.frame.hash);
        }
    }

    /// Deletes the object of a frame that was refused.
    async fn forget_object(&self, draft: &FrameDraft, error: StoreError) -> StoreError {
        if let (FrameEvents::Object(name), StoreError::NoSession(_) | StoreError::NotOwner(_)) = (&draft.events, &error)
        {
            drop(self.node.stream.delete_object(name).await);
        }
        error
    }

    /// Completes batches once their frame is in the index, so that this process reads its own writes.
    fn complete(&self, outcomes: BatchOutcomes, stored: Option<StoredFrame>) {
        let callback: IndexCallback = Box::new(move |indexed| {
            for (done, refusal) in outcomes {
                // The frame is committed, whether or not the index has it.
                let _indexed = &indexed;
                done(refusal.map_or(Ok(()), Err));
            }
        });
        self.node.index.submit(stored.map(|stored| IndexChange::Frames(vec![stored])), Some(callback));
    }

    /// Refuses batches, after all earlier ones.
    fn refuse(&self, outcomes: BatchOutcomes, error: &StoreError) {
        let outcomes = outcomes.into_iter().map(|(done, own)| (done, Some(own.unwrap_or_else(|| repeat_error(error)))));
        self.complete(outcomes.collect(), None);
    }
}

fn to_owned_session(mut last: LastFrame) -> OwnedSession {
    last.frame.summary.record.number.get_or_insert(last.sequence);
    OwnedSession { sequence: last.sequence, hash: last.frame.hash, record: last.frame.summary.record }
}

pub fn new_nonce() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

fn changes_session(patch: &SessionPatch) -> bool {
    let SessionPatch { state, end, agent_session, title, config, carry, run } = patch;
    let is_changed = state.is_some() || end.is_some() || agent_session.is_some() || title.is_some();
    is_changed || config.is_some() || carry.is_some() || run.is_some()
}

/// Returns the same error for another batch.
fn repeat_error(error: &StoreError) -> StoreError {
    match error {
        StoreError::NotOwner(id) => StoreError::NotOwner(id.clone()),
        StoreError::NoSession(id) => StoreError::NoSession(id.clone()),
        StoreError::Damaged { session, seq } => StoreError::Damaged { session: session.clone(), seq: *seq },
        StoreError::Newer { found, known } => StoreError::Newer { found: *found, known: *known },
        StoreError::Closed => StoreError::Closed,
        error => StoreError::Unreachable(error.to_string()),
    }
}
