//! Watching a session of this or another process: shown to a person, or written as messages of a dialect. Events come from the
//! log; actions go through [`SessionControl`], so that sessions of this process and of others look the same.

pub mod interactive;

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
};

pub use interactive::DisplaySettings;
use switchboard_agents::{Abilities, RequestAnswer};
use switchboard_dialects::{Dialect, MessageBuffer, Projection};
use switchboard_engine::Follower;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    ToItsEnd,
    Left,
}

/// Writes messages until the session ends.
pub async fn write_messages(
    follower: &mut Follower,
    control: &impl SessionControl,
    mut writer: MessageWriter,
    signals: &mut StopSignals,
) -> Result<WatchEnd, Failure> {
    loop {
        let events = tokio::select! {
            events = follower.next() => events?,
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
