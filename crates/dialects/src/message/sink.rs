//! Where the messages of one event go.

use switchboard_event::Event;

use super::{
    parents::Parents,
    wire::{Content, Kind, Message, MessageId, Place},
};
use crate::Messages;

/// The messages of one event.
pub struct Sink<'a> {
    pub event: &'a Event,
    out: &'a mut Messages,
    part: u32,
    /// The message with the tool call under which a subagent works.
    parent: Option<String>,
}

impl<'a> Sink<'a> {
    /// A sink for the messages of an event.
    pub fn new(event: &'a Event, parents: &Parents, out: &'a mut Messages) -> Self {
        let parent = event.parent.as_deref().and_then(|parent| parents.of(parent)).map(str::to_owned);
        Self { event, out, part: 0, parent }
    }

    /// Where the messages belong.
    pub fn place(&self) -> Place<'a> {
        Place::from(self.event)
    }

    /// The item of the event.
    pub fn item(&self) -> &'a str {
        self.event.item.as_deref().unwrap_or_default()
    }

    /// The id that the next message will have.
    pub fn next_id(&self) -> MessageId<'a> {
        MessageId { event: self.event, part: self.part }
    }

    /// Writes a message without content.
    pub fn send(&mut self, kind: Kind<'_>) {
        self.send_with(kind, Vec::new(), None);
    }

    /// Writes a message with content, below another message if it belongs to one.
    pub fn send_with(&mut self, kind: Kind<'_>, content: Vec<Content<'_>>, parent: Option<&str>) {
        let parent_id = parent.or(self.parent.as_deref());
        let timestamp = self.event.at.as_micros().div_euclid(1_000);
        let role = kind.role();
        self.out.push(&Message { id: self.next_id(), timestamp, kind, role, content, parent_id });
        self.part += 1;
    }
}
