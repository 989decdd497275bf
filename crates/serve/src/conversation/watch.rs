//! Following a session across its runs.

use switchboard_dialects::Dialect;
use switchboard_engine::{Follower, TailRead};
use switchboard_event::{Event, Id};

use crate::{
    Problem, Service,
    feed::{FeedStart, MessageSlice, SessionReader},
};

/// A reader of a session's messages that continues with the next run when one ends.
pub struct MessageWatch {
    service: Service,
    id: Id,
    dialect: &'static Dialect,
    /// `None` while the session has ended and all its messages were returned.
    reader: Option<SessionReader>,
    seen: u64,
}

impl MessageWatch {
    pub(super) async fn new(
        service: Service,
        id: Id,
        dialect: &'static Dialect,
        start: FeedStart,
    ) -> Result<Self, Problem> {
        let reader = Some(service.open_reader(&id, dialect, start).await?);
        Ok(Self { service, id, dialect, reader, seen: 0 })
    }

    /// Waits for the next messages and returns them. May be dropped while it waits, and nothing is missed.
    pub async fn next(&mut self) -> Result<MessageSlice, Problem> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(part) = reader.next().await? {
                    return Ok(part);
                }
                self.seen = reader.seen();
                self.reader = None;
            }
            self.service.engine().wait_for_next_run(&self.id, self.seen).await?;
            self.reader =
                Some(self.service.open_reader(&self.id, self.dialect, FeedStart::AfterEvent(self.seen)).await?);
        }
    }

    /// Returns the last event whose messages were all returned.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.reader.as_ref().map_or(self.seen, SessionReader::seen)
    }
}

/// A reader of a session's events that continues with the next run when one ends.
pub struct EventWatch {
    service: Service,
    id: Id,
    follower: Follower,
}

impl EventWatch {
    pub(super) async fn new(service: Service, id: Id) -> Result<Self, Problem> {
        let follower = follow(&service, &id, 0).await?;
        Ok(Self { service, id, follower })
    }

    /// Waits for the next events and returns them. May be dropped while it waits, and nothing is missed.
    pub async fn next(&mut self) -> Result<Vec<Event>, Problem> {
        loop {
            let mut follower = self.follower.clone();
            let read = self.service.query_log(move |_| {
                let read = follower.read()?;
                read.try_map(|slice| Ok((slice.events()?, follower)))
            });
            match read.await? {
                TailRead::Events((events, follower)) => {
                    self.follower = follower;
                    return Ok(events);
                }
                TailRead::CaughtUp => self.follower.wait_for_events_after(self.seen()).await,
                TailRead::Ended => {
                    self.service.engine().wait_for_next_run(&self.id, self.seen()).await?;
                    self.follower = follow(&self.service, &self.id, self.seen()).await?;
                }
            }
        }
    }

    #[must_use]
    pub fn seen(&self) -> u64 {
        self.follower.position()
    }
}

async fn follow(service: &Service, id: &Id, after: u64) -> Result<Follower, Problem> {
    let (engine, id) = (service.engine().clone(), id.clone());
    service.query_log(move |_| engine.follow(&id, after)).await
}
