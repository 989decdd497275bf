//! Sessions as a whole: created, claimed, archived and deleted. Each is one frame after the last one of the session, so
//! of several nodes that try at the same time, one succeeds.

use std::sync::Arc;

use switchboard_event::Id;
use switchboard_store::{NewSession, SessionPhase, StoreError};
use tokio::time::{Instant, sleep};
use tracing::info;

use crate::{
    frame::{FrameDraft, FrameEvents, FrameSummary},
    index::{IndexChange, StoredFrame},
    node::{AppendOutcome, ClusterNode, LastFrame, OPERATION_TIMEOUT, RETRY_INTERVAL},
    record::{FrameOwner, FrameRecord},
    writer::{OwnedSession, new_nonce},
};

/// The condition under which a session is assigned to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimCondition {
    /// It has ended or its owner is gone, and it has this number of events, if given. It is continued.
    Continue(Option<u64>),
    /// It is open and its owner is gone. It keeps its phase.
    Abandoned,
}

impl ClusterNode {
    fn owner(&self) -> FrameOwner {
        self.membership.owner().clone()
    }

    /// Creates a session.
    pub async fn create_session(self: &Arc<Self>, new: NewSession) -> Result<OwnedSession, StoreError> {
        let deadline = Instant::now() + OPERATION_TIMEOUT;
        let mut record = FrameRecord::new(&new, self.owner())?;
        // Objects of a session that exists already must not be touched.
        if self.last_frame(&new.id).await?.is_some() {
            return Err(StoreError::Exists(new.id));
        }
        self.store_texts(&mut record, Some(deadline)).await?;
        let draft = event_less(record);
        match self.append_frame(&draft, 0, "", Some(deadline)).await {
            Ok((AppendOutcome::Committed(sequence), hash)) => self.finish(draft, sequence, "", hash).await,
            Ok((AppendOutcome::Conflict(_), _)) => Err(StoreError::Exists(new.id)),
            Err(error) => {
                tokio::spawn(self.clone().withdraw(draft, None));
                Err(error)
            }
        }
    }

    /// Assigns a session to this process.
    pub async fn claim_session(
        self: &Arc<Self>,
        session: &Id,
        condition: ClaimCondition,
    ) -> Result<OwnedSession, StoreError> {
        let deadline = Instant::now() + OPERATION_TIMEOUT;
        loop {
            let last = self.existing_frame(session).await?;
            let mut record = last.frame.record().clone();
            let owner = self.owner();
            let is_elsewhere = record.owner.incarnation != owner.incarnation && !self.membership.is_gone(&record.owner);
            let is_refused = match condition {
                ClaimCondition::Continue(head) => {
                    record.is_open() && is_elsewhere || head.is_some_and(|head| head != record.head)
                }
                ClaimCondition::Abandoned => {
                    !record.is_open() || is_elsewhere || record.owner.incarnation == owner.incarnation
                }
            };
            if is_refused {
                return Err(StoreError::NotOwner(session.clone()));
            }
            record.epoch += 1;
            record.revision += 1;
            record.home = record.node().to_owned();
            record.owner = owner;
            record.number.get_or_insert(last.sequence);
            if matches!(condition, ClaimCondition::Continue(_)) {
                record.home.clone_from(&record.owner.name);
                record.reopen();
            }
            let draft = event_less(record);
            let outcome = self.append_frame(&draft, last.sequence, &last.frame.hash, Some(deadline)).await;
            match outcome {
                Ok((AppendOutcome::Committed(sequence), hash)) => {
                    // Frames of other nodes may not be in the index yet.
                    if let Err(error) = self.wait_for_index(sequence).await {
                        tokio::spawn(self.clone().withdraw(draft, Some(last)));
                        return Err(error);
                    }
                    return Ok(OwnedSession { record: draft.summary.record, sequence, hash });
                }
                Ok((AppendOutcome::Conflict(_), _)) => {}
                Err(error) => {
                    tokio::spawn(self.clone().withdraw(draft, Some(last)));
                    return Err(error);
                }
            }
        }
    }

    /// Archives or unarchives a session, regardless of its owner.
    pub async fn set_archived(&self, session: &Id, archived: bool) -> Result<(), StoreError> {
        let deadline = Instant::now() + OPERATION_TIMEOUT;
        loop {
            let last = self.existing_frame(session).await?;
            let mut record = last.frame.record().clone();
            record.archived = archived;
            record.number.get_or_insert(last.sequence);
            let draft = event_less(record);
            let appended = self.append_frame(&draft, last.sequence, &last.frame.hash, Some(deadline)).await?;
            if let (AppendOutcome::Committed(sequence), _) = appended {
                return self.wait_for_index(sequence).await;
            }
        }
    }

    /// Deletes a session if a condition on its last frame holds, otherwise it counts as open. What remains is a frame
    /// that says so: without it, a repeated request could create the session anew.
    pub async fn delete_session(
        &self,
        session: &Id,
        is_deletable: impl Fn(&FrameRecord) -> bool,
    ) -> Result<(), StoreError> {
        let deadline = Instant::now() + OPERATION_TIMEOUT;
        loop {
            let last = self.existing_frame(session).await?;
            let record = last.frame.record();
            if !is_deletable(record) {
                return Err(StoreError::Open(session.clone()));
            }
            // The index must have all frames, because they name the objects.
            self.wait_for_session(session, last.sequence).await?;
            // Before the deletion, so that a crash leaves nothing behind.
            self.index.apply(IndexChange::AddGarbage(session.clone(), self.owner())).await?;
            let draft = event_less(to_tombstone(record, self.owner()));
            let appended = self.append_frame(&draft, last.sequence, &last.frame.hash, Some(deadline)).await?;
            if let (AppendOutcome::Committed(sequence), hash) = appended {
                let frame = draft.to_frame(&last.frame.hash, &hash);
                return self.index.apply(IndexChange::Frames(vec![StoredFrame { sequence, frame }])).await;
            }
        }
    }

    /// Waits until the index has a session up to a frame.
    async fn wait_for_session(&self, session: &Id, sequence: u64) -> Result<(), StoreError> {
        let is_current = self.index.session_sequence(session)?.is_some_and(|indexed| indexed >= sequence);
        if is_current { Ok(()) } else { self.wait_for_index(sequence).await }
    }

    /// Removes the frames and objects of deleted sessions: those that this process deleted, and those whose deletion
    /// another one may not have finished before it ended.
    pub async fn remove_garbage(&self) -> Result<(), StoreError> {
        for deleted in self.index.list_garbage()? {
            let is_own = deleted.owner.incarnation == self.membership.owner().incarnation;
            if !is_own && !self.membership.is_gone(&deleted.owner) {
                continue;
            }
            let id = deleted.id;
            // Its deletion may have been refused.
            if self.last_frame(&id).await?.is_some_and(|last| last.frame.record().deleted) {
                self.stream.purge(&self.stream.subject(&id), 1).await?;
                for object in deleted.objects {
                    self.stream.delete_object(&object).await?;
                }
            }
            self.index.apply(IndexChange::RemoveGarbage(id)).await?;
        }
        Ok(())
    }

    /// Applies an own frame to the index.
    async fn finish(
        &self,
        draft: FrameDraft,
        sequence: u64,
        previous: &str,
        hash: String,
    ) -> Result<OwnedSession, StoreError> {
        let frame = draft.to_frame(previous, &hash);
        self.index.apply(IndexChange::Frames(vec![StoredFrame { sequence, frame }])).await?;
        let mut record = draft.summary.record;
        record.number.get_or_insert(sequence);
        Ok(OwnedSession { record, sequence, hash })
    }

    /// Makes sure that a session does not stay assigned to this process after the request for it failed: its frame may
    /// have been stored, or may still be on its way. `before` is the last frame before it, if any.
    async fn withdraw(self: Arc<Self>, draft: FrameDraft, before: Option<LastFrame>) {
        let id = draft.summary.record.id.clone();
        while !self.is_closing() {
            match self.try_withdraw(&draft, before.as_ref()).await {
                Ok(true) => {
                    info!(session = %id, "a session that could not be started was given back");
                    return;
                }
                Ok(false) => return,
                Err(_) => sleep(RETRY_INTERVAL).await,
            }
        }
    }

    /// Appends a frame that revokes a draft, whether or not the draft is stored: then it can no longer be. Returns
    /// `false` if the session has moved on.
    async fn try_withdraw(&self, draft: &FrameDraft, before: Option<&LastFrame>) -> Result<bool, StoreError> {
        let own = &draft.summary.record;
        let last = self.last_frame(&own.id).await?;
        let (sequence, hash) = last.as_ref().map_or((0, ""), |last| (last.sequence, &last.frame.hash));
        let is_own = last.as_ref().is_some_and(|last| last.frame.summary.nonce == draft.summary.nonce);
        if !is_own && sequence != before.map_or(0, |before| before.sequence) {
            return Ok(false);
        }
        let record = match before {
            None => to_tombstone(own, self.owner()),
            Some(before) => {
                let epoch = own.epoch + 1;
                FrameRecord { epoch, revision: own.revision + 1, number: own.number, ..before.frame.record().clone() }
            }
        };
        let deadline = Some(Instant::now() + OPERATION_TIMEOUT);
        match self.append_frame(&event_less(record), sequence, hash, deadline).await? {
            (AppendOutcome::Committed(_), _) => Ok(true),
            (AppendOutcome::Conflict(_), _) => Err(StoreError::Busy),
        }
    }
}

/// Returns the draft of a frame without events.
fn event_less(record: FrameRecord) -> FrameDraft {
    let first = record.head + 1;
    let summary = FrameSummary { record, runs: Vec::new(), kinds: Vec::new(), nonce: new_nonce() };
    FrameDraft { summary, first, events: FrameEvents::Inline(bytes::Bytes::new()) }
}

/// Returns the record of a deleted session: nothing but its ID and owner.
fn to_tombstone(record: &FrameRecord, owner: FrameOwner) -> FrameRecord {
    FrameRecord {
        id: record.id.clone(),
        number: record.number,
        home: record.node().to_owned(),
        owner,
        epoch: record.epoch + 1,
        revision: record.revision + 1,
        deleted: true,
        state: SessionPhase::Done.name().to_owned(),
        head: record.head,
        ..FrameRecord::default()
    }
}
