//! Following a session across its runs: at the end of one, the next is waited for.

use switchboard_dialects::Dialect;
use switchboard_engine::{Follower, TailRead};
use switchboard_event::{Event, Id};

use crate::{
    Problem, Service,
    feed::{Begin, Part, Reader},
};

/// A reader of a session that does not stop where a run ends.
pub struct Watch {
    service: Service,
    id: Id,
    dialect: &'static Dialect,
    /// Nothing while the session has ended and all of it was given out.
    reader: Option<Reader>,
    seen: u64,
}

impl Watch {
    pub(super) async fn new(
        service: Service,
        id: Id,
        dialect: &'static Dialect,
        begin: Begin,
    ) -> Result<Self, Problem> {
        let reader = Some(service.read(&id, dialect, begin).await?);
        Ok(Self { service, id, dialect, reader, seen: 0 })
    }

    /// The next messages. Waits for them as long as it takes; may be dropped while it waits, and nothing is missed.
    ///
    /// # Errors
    /// If the log cannot be read, or the session was deleted.
    pub async fn next(&mut self) -> Result<Part, Problem> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(part) = reader.next().await? {
                    return Ok(part);
                }
                self.seen = reader.seen();
                self.reader = None;
            }
            self.service.engine().wait_for_next_run(&self.id, self.seen).await?;
            self.reader = Some(self.service.read(&self.id, self.dialect, Begin::Event(self.seen)).await?);
        }
    }

    /// The last event of which everything was given out.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.reader.as_ref().map_or(self.seen, Reader::seen)
    }
}

/// A reader of a session's events that does not stop where a run ends.
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

    /// Returns the next events. Waits for them as long as it takes; may be dropped while it waits, and nothing is missed.
    ///
    /// # Errors
    /// If the log cannot be read, or the session was deleted.
    pub async fn next(&mut self) -> Result<Vec<Event>, Problem> {
        loop {
            let mut follower = self.follower.clone();
            let read = self.service.ask(move |_| {
                Ok(match follower.read()? {
                    TailRead::Events(slice) => TailRead::Events((slice.events()?, follower)),
                    TailRead::CaughtUp => TailRead::CaughtUp,
                    TailRead::Ended => TailRead::Ended,
                })
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

    /// Returns the last event that was read.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.follower.position()
    }
}

async fn follow(service: &Service, id: &Id, after: u64) -> Result<Follower, Problem> {
    let (engine, id) = (service.engine().clone(), id.clone());
    service.ask(move |_| engine.follow(&id, after)).await
}
