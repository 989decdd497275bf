//! Watching a session of this process, of another one or of a server: shown to a person, or written as messages of a
//! dialect. Events come from an [`EventSource`], actions go through [`SessionControl`], so that all sessions look the
//! same.

pub mod interactive;

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
};

pub use interactive::DisplaySettings;
use switchboard_agents::{Abilities, RequestAnswer};
use switchboard_dialects::{Dialect, MessageBuffer, Projection};
use switchboard_engine::{EventSlice, Follower};
use switchboard_event::Event;

use crate::{
    failure::Failure,
    signals::{StopSignal, StopSignals},
};

/// What a watcher can do with a session.
pub trait SessionControl {
    fn abilities(&self) -> &Abilities;

    /// Answers a request. A request that was already answered or withdrawn is not an error.
    async fn answer(&self, answer: RequestAnswer) -> Result<(), String>;

    /// Handles Ctrl-C or another stop signal. A break ends the watching, not the session.
    async fn stop(&self, signal: StopSignal) -> ControlFlow<()>;
}

/// The events of a session, in order and up to its end.
pub trait EventSource {
    /// Waits for the next events; `None` at the end. Cancel safe.
    async fn next_events(&mut self) -> Result<Option<WatchedEvents>, Failure>;

    /// Returns whether stored events follow: a request in the past may have been answered since.
    fn is_behind(&self) -> bool;
}

/// Consecutive events of a session.
pub enum WatchedEvents {
    /// Of the log on this machine.
    Slice(EventSlice),
    /// Of a server.
    Received(Vec<Event>),
}

impl WatchedEvents {
    pub fn for_each(&self, visit: impl FnMut(&Event)) -> Result<(), Failure> {
        match self {
            Self::Slice(slice) => Ok(slice.for_each(visit)?),
            Self::Received(events) => {
                events.iter().for_each(visit);
                Ok(())
            }
        }
    }
}

impl EventSource for Follower {
    async fn next_events(&mut self) -> Result<Option<WatchedEvents>, Failure> {
        Ok(self.next().await?.map(WatchedEvents::Slice))
    }

    fn is_behind(&self) -> bool {
        self.position() < self.last_seq()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    ToItsEnd,
    Left,
}

/// Writes messages until the session ends.
pub async fn write_messages(
    source: &mut impl EventSource,
    control: &impl SessionControl,
    mut writer: MessageWriter,
    signals: &mut StopSignals,
) -> Result<WatchEnd, Failure> {
    loop {
        let events = tokio::select! {
            events = source.next_events() => events?,
            signal = signals.next() => match control.stop(signal).await {
                ControlFlow::Continue(()) => continue,
                ControlFlow::Break(()) => return Ok(WatchEnd::Left),
            },
        };
        let Some(events) = events else { return Ok(WatchEnd::ToItsEnd) };
        events.for_each(|event| writer.event(event))?;
        writer.flush()?;
    }
}

/// Writes events as messages of a dialect, one JSON object per line.
pub struct MessageWriter {
    projection: Box<dyn Projection>,
    messages: MessageBuffer,
    /// Events up to this one only bring the projection up to date; their messages are not written.
    skip_until: u64,
}

impl MessageWriter {
    pub fn new(dialect: &Dialect) -> Self {
        Self { projection: (dialect.projection)(), messages: MessageBuffer::default(), skip_until: 0 }
    }

    /// Suppresses the messages of events up to `skip_until`.
    pub fn after(self, skip_until: u64) -> Self {
        Self { skip_until, ..self }
    }

    /// Adds an event, whose messages [`MessageWriter::flush`] writes.
    pub fn event(&mut self, event: &Event) {
        self.projection.project_event(event, &mut self.messages);
        if event.seq <= self.skip_until {
            self.messages.clear();
        }
    }

    pub fn flush(&mut self) -> Result<(), Failure> {
        let written = lines(&self.messages).map_err(Failure::Output);
        self.messages.clear();
        written
    }
}

fn lines(messages: &MessageBuffer) -> io::Result<()> {
    // In one write: standard output searches each write for its last line feed.
    let mut text = Vec::new();
    for message in messages.iter() {
        text.extend_from_slice(message);
        text.push(b'\n');
    }
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    out.flush()
}
