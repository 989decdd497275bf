//! A session for machines: messages of a dialect, one JSON object a line, as they come.

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
};

use switchboard_dialects::{Dialect, MessageBuffer, Projection};
use switchboard_engine::Follower;
use switchboard_event::Event;

use super::{Signals, Steer, Watched};
use crate::failure::Failure;

/// Writes the session to its end.
pub async fn follow(
    follower: &mut Follower,
    steer: &impl Steer,
    mut writer: Writer,
    signals: &mut Signals,
) -> Result<Watched, Failure> {
    loop {
        let events = tokio::select! {
            events = follower.next() => events?,
            asked = signals.next() => match steer.stop(asked).await {
                ControlFlow::Continue(()) => continue,
                ControlFlow::Break(()) => return Ok(Watched::Left),
            },
        };
        let Some(events) = events else { return Ok(Watched::ToItsEnd) };
        events.for_each(|event| writer.event(event))?;
        writer.flush()?;
    }
}

/// Events in, lines out.
pub struct Writer {
    projection: Box<dyn Projection>,
    messages: MessageBuffer,
    /// Messages of events up to this one are not written: they only bring the projection to where it should be.
    silent: u64,
}

impl Writer {
    /// Writes messages of a dialect.
    pub fn new(dialect: &Dialect) -> Self {
        Self { projection: (dialect.projection)(), messages: MessageBuffer::default(), silent: 0 }
    }

    /// Writes only what comes behind an event.
    pub fn after(self, silent: u64) -> Self {
        Self { silent, ..self }
    }

    /// Takes an event. What it means is written by [`Writer::flush`].
    pub fn event(&mut self, event: &Event) {
        self.projection.project_event(event, &mut self.messages);
        if event.seq <= self.silent {
            self.messages.clear();
        }
    }

    /// Writes what is to be written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        let written = lines(&self.messages).map_err(Failure::Output);
        self.messages.clear();
        written
    }
}

fn lines(messages: &MessageBuffer) -> io::Result<()> {
    // All at once: standard output looks for the last line end in whatever it gets.
    let mut text = Vec::new();
    for message in messages.iter() {
        text.extend_from_slice(message);
        text.push(b'\n');
    }
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    out.flush()
}
