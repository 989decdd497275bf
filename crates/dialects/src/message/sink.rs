use switchboard_event::Event;

use super::{
    parents::ParentMessages,
    wire::{Content, Kind, Message, Place},
};
use crate::{MessageBuffer, message_id::MessageId};

/// Collects the messages of one event.
pub struct MessageSink<'a> {
    pub event: &'a Event,
    out: &'a mut MessageBuffer,
    part: u32,
    /// The message with the tool call that runs the subagent.
    parent: Option<String>,
}

impl<'a> MessageSink<'a> {
    /// Creates a sink for the messages of an event.
    pub fn new(event: &'a Event, parents: &ParentMessages, out: &'a mut MessageBuffer) -> Self {
        let parent = event.parent.as_deref().and_then(|parent| parents.message_of(parent)).map(str::to_owned);
        Self { event, out, part: 0, parent }
    }

    /// Returns the session, turn and thread of the messages.
    pub fn message_place(&self) -> Place<'a> {
        Place::from(self.event)
    }

    pub fn item_id(&self) -> &'a str {
        self.event.item.as_deref().unwrap_or_default()
    }

    /// Returns the id of the next message.
    pub fn next_id(&self) -> MessageId<'a> {
        MessageId { event: self.event, part: self.part }
    }

    /// Writes a message without content.
    pub fn send(&mut self, kind: Kind<'_>) {
        self.send_with(kind, Vec::new(), None);
    }

    /// Writes a message with content, optionally below a parent message.
    pub fn send_with(&mut self, kind: Kind<'_>, content: Vec<Content<'_>>, parent: Option<&str>) {
        let parent_id = parent.or(self.parent.as_deref());
        let timestamp = self.event.at.as_micros().div_euclid(1_000);
        let role = kind.role();
        self.out.push(&Message { id: self.next_id(), timestamp, kind, role, content, parent_id });
        self.part += 1;
    }
}
