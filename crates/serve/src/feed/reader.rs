//! One reader of a session: alone while it catches up, then with the others.

use std::sync::Arc;

use switchboard_engine::TailRead;
use switchboard_store::StoreError;
use tokio::task::JoinHandle;

use super::{
    Message, Passage,
    budget::{HeldPart, ReadBudget},
    catch_up::CatchUpReader,
    shared::{Detached, Shared},
};

/// One reader of a session.
pub struct Reader {
    way: Way,
    shared: Arc<Shared>,
    budget: Arc<ReadBudget>,
    /// The last event that was given out.
    seen: u64,
    /// How many messages of the session there were up to that.
    count: u64,
}

enum Way {
    Alone(Box<CatchUpReader>),
    /// It reads the log, on a thread that may wait for the disk. It is kept here, so that nothing is lost if nobody
    /// waits for it just now.
    Reading(JoinHandle<CatchUpResult>),
    /// It is with the others. What it would need to go by itself is kept.
    Together(Box<CatchUpReader>),
    Over,
}

/// A reader that has read from the log, and what it has read.
type CatchUpResult = (Box<CatchUpReader>, Result<TailRead<Passage>, StoreError>);

/// The messages of a passage that are for this reader.
#[derive(Clone)]
pub struct Part {
    passage: Arc<Passage>,
    first: usize,
}

impl Part {
    /// The messages of a passage from one of them on.
    pub fn new(passage: Arc<Passage>, first: usize) -> Self {
        Self { passage, first }
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.passage.bytes()
    }

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        self.passage.messages.get(self.first..).unwrap_or_default()
    }

    /// How many messages of the session are before the first.
    pub fn first_offset(&self) -> u64 {
        self.passage.count - self.messages().len() as u64
    }

    /// The last event that it says everything of.
    pub fn last_seq(&self) -> u64 {
        self.passage.to
    }
}

impl Reader {
    pub(super) fn new(alone: CatchUpReader, shared: Arc<Shared>, budget: Arc<ReadBudget>) -> Self {
        Self { way: Way::Alone(Box::new(alone)), shared, budget, seen: 0, count: 0 }
    }

    /// Holds messages while they are sent on, within the memory that all readers share.
    pub fn hold(&self, part: Part) -> HeldPart {
        self.budget.hold(part)
    }

    /// Goes back to behind the first `messages` messages of the session, since those that follow could not be held until they were
    /// sent.
    pub async fn rewind(&mut self, messages: u64) {
        if let Way::Reading(reading) = &mut self.way
            && let Ok((alone, _)) = reading.await
        {
            self.way = Way::Alone(alone);
        }
        self.separate();
        if let Way::Alone(alone) = &mut self.way {
            alone.rewind(messages);
        }
    }

    /// The next messages; nothing once the session has ended and all was given out. May be dropped while it waits,
    /// and nothing is missed.
    ///
    /// # Errors
    /// If the log cannot be read, or the session was deleted.
    pub async fn next(&mut self) -> Result<Option<Part>, StoreError> {
        loop {
            match self.step().await? {
                TailRead::Events(part) => return Ok(Some(part)),
                TailRead::Ended => return Ok(None),
                TailRead::CaughtUp => self.wait().await,
            }
        }
    }

    /// What there is now. Waits for the disk, and for nothing else.
    ///
    /// # Errors
    /// If the log cannot be read, or the session was deleted.
    pub async fn step(&mut self) -> Result<TailRead<Part>, StoreError> {
        loop {
            let stepped = match &mut self.way {
                Way::Over => return Ok(TailRead::Ended),
                Way::Together(_) => self.together()?,
                Way::Alone(_) | Way::Reading(_) => self.alone().await?,
            };
            match stepped {
                Some(TailRead::Events(part)) if part.messages().is_empty() => {}
                Some(step) => return Ok(step),
                None => {}
            }
        }
    }

    /// The last event that was seen, whether or not it had something to say.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// How many messages of the session there were up to that.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Waits until there may be more.
    async fn wait(&mut self) {
        if let Way::Together(alone) | Way::Alone(alone) = &self.way {
            alone.follower.wait_for_events_after(self.seen).await;
        }
    }

    /// A step with the others.
    fn together(&mut self) -> Result<Option<TailRead<Part>>, StoreError> {
        let Way::Together(alone) = &mut self.way else { return Ok(None) };
        if alone.subject.dialect.verbatim {
            return self.closely();
        }
        match self.shared.read(self.seen, &alone.subject)? {
            Ok(TailRead::Events(passage)) => {
                let first = passage.messages.partition_point(|message| message.seq <= self.seen);
                (self.seen, self.count) = (passage.to, passage.count);
                Ok(Some(TailRead::Events(Part::new(passage, first))))
            }
            Ok(TailRead::CaughtUp) => Ok(Some(TailRead::CaughtUp)),
            Ok(TailRead::Ended) => Ok(Some(TailRead::Ended)),
            Err(Detached(state)) => {
                alone.go_on(self.seen, state);
                self.separate();
                Ok(None)
            }
        }
    }

    /// Events as they are need no projection, so there is nothing to share.
    fn closely(&mut self) -> Result<Option<TailRead<Part>>, StoreError> {
        let Way::Together(alone) = &mut self.way else { return Ok(None) };
        if !alone.follower.is_close() {
            alone.go_on(self.seen, None);
            self.separate();
            return Ok(None);
        }
        Ok(Some(match alone.follower.read()? {
            TailRead::Events(slice) => {
                let passage = Passage::verbatim(slice, self.seen);
                (self.seen, self.count) = (passage.to, passage.count);
                TailRead::Events(Part::new(Arc::new(passage), 0))
            }
            TailRead::CaughtUp => TailRead::CaughtUp,
            TailRead::Ended => TailRead::Ended,
        }))
    }

    fn separate(&mut self) {
        self.way = match std::mem::replace(&mut self.way, Way::Over) {
            Way::Together(alone) => Way::Alone(alone),
            way => way,
        };
    }

    /// A step by itself.
    async fn alone(&mut self) -> Result<Option<TailRead<Part>>, StoreError> {
        if let Way::Alone(_) = &self.way {
            let permit = self.budget.read_permit().await;
            if let Way::Alone(mut alone) = std::mem::replace(&mut self.way, Way::Over) {
                self.way = Way::Reading(self.budget.spawn_read(move || {
                    let read = alone.read();
                    drop(permit);
                    (alone, read)
                }));
            }
        }
        let Way::Reading(reading) = &mut self.way else { return Ok(None) };
        let (mut alone, read) = reading.await.map_err(|_| StoreError::Closed)?;
        let step = match read {
            Err(error) => {
                self.way = Way::Over;
                return Err(error);
            }
            Ok(TailRead::Ended) => {
                self.way = Way::Over;
                return Ok(Some(TailRead::Ended));
            }
            Ok(TailRead::CaughtUp) => {
                (self.seen, self.count) = alone.place();
                TailRead::CaughtUp
            }
            Ok(TailRead::Events(passage)) => {
                (self.seen, self.count) = (passage.to, passage.count);
                TailRead::Events(Part::new(Arc::new(passage), 0))
            }
        };
        let verbatim = alone.subject.dialect.verbatim;
        if alone.has_caught_up() && (verbatim || self.shared.join(&mut alone.state)) {
            // The others have it now, and it need not be there once for each reader.
            alone.state = None;
            self.way = Way::Together(alone);
        } else {
            self.way = Way::Alone(alone);
        }
        Ok(Some(step))
    }
}
