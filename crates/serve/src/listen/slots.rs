//! The connections of a server, up to a limit. A connection that has not shown a token yet can be closed in favor of a
//! new one, so a flood of anonymous connections never keeps an authenticated client out.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

pub struct ConnectionSlots {
    limit: usize,
    members: Mutex<SlotMembers>,
    open: watch::Sender<usize>,
}

#[derive(Default)]
struct SlotMembers {
    next_id: u64,
    /// Ordered by age, each with the signal that closes it.
    anonymous: BTreeMap<u64, Arc<Notify>>,
    authenticated: HashSet<u64>,
}

impl SlotMembers {
    fn count(&self) -> usize {
        self.anonymous.len() + self.authenticated.len()
    }
}

/// The slot of one connection, freed on drop.
pub struct ConnectionSlot {
    handle: SlotHandle,
    eviction: Arc<Notify>,
}

/// Refers to the slot of a connection without keeping it. An extension of every request.
#[derive(Clone)]
pub struct SlotHandle {
    slots: Arc<ConnectionSlots>,
    id: u64,
}

impl ConnectionSlots {
    pub fn new(limit: u32) -> Arc<Self> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Arc::new(Self { limit, members: Mutex::default(), open: watch::Sender::new(0) })
    }

    /// Takes a slot for an anonymous connection. When all are taken, the oldest anonymous connection is closed for it;
    /// when all belong to authenticated clients, there is none.
    pub fn acquire(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut members = self.members.lock();
        if members.count() >= self.limit {
            let (_, eviction) = members.anonymous.pop_first()?;
            eviction.notify_one();
        }
        let (id, eviction) = (members.next_id, Arc::new(Notify::new()));
        members.next_id += 1;
        members.anonymous.insert(id, eviction.clone());
        self.publish(&members);
        Some(ConnectionSlot { handle: SlotHandle { slots: self.clone(), id }, eviction })
    }

    /// Waits until no connection is open.
    pub async fn drained(&self) {
        // The sender lives in `self`, so this does not fail.
        drop(self.open.subscribe().wait_for(|open| *open == 0).await);
    }

    fn release(&self, id: u64) {
        let mut members = self.members.lock();
        members.anonymous.remove(&id);
        members.authenticated.remove(&id);
        self.publish(&members);
    }

    fn publish(&self, members: &SlotMembers) {
        self.open.send_replace(members.count());
    }
}

impl ConnectionSlot {
    pub fn handle(&self) -> SlotHandle {
        self.handle.clone()
    }

    /// The signal that another connection took the slot.
    pub fn eviction(&self) -> Arc<Notify> {
        self.eviction.clone()
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.handle.slots.release(self.handle.id);
    }
}

impl SlotHandle {
    /// Marks the connection as one of an authenticated client: it keeps its slot until it ends.
    pub fn mark_authenticated(&self) {
        let mut members = self.slots.members.lock();
        if members.anonymous.remove(&self.id).is_some() {
            members.authenticated.insert(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::ConnectionSlots;

    #[tokio::test]
    async fn the_oldest_anonymous_connection_goes_first_and_authenticated_ones_stay() {
        let slots = ConnectionSlots::new(2);
        let (user, idle) = (slots.acquire().unwrap(), slots.acquire().unwrap());
        user.handle().mark_authenticated();
        let newer = slots.acquire().unwrap();
        timeout(Duration::from_secs(5), idle.eviction().notified())
            .await
            .expect("the idle connection is told to close");
        // It has lost its slot already, and cannot become authenticated any more.
        idle.handle().mark_authenticated();
        drop(idle);
        newer.handle().mark_authenticated();
        assert!(slots.acquire().is_none(), "both slots belong to authenticated clients");
        drop(user);
        assert!(slots.acquire().is_some());
    }

    #[tokio::test]
    async fn the_slots_are_drained_when_all_connections_ended() {
        let slots = ConnectionSlots::new(2);
        let slot = slots.acquire().unwrap();
        assert!(timeout(Duration::from_millis(10), slots.drained()).await.is_err());
        drop(slot);
        timeout(Duration::from_secs(5), slots.drained()).await.expect("nothing is open");
    }
}
