//! The last message: what the agent answered in the end. Subagents and thoughts are no part of it.

use switchboard_event::{Details, Event, EventBody, Origin, Status};

/// Keeps the last message of the last turn that was not started in the background.
#[derive(Clone, Debug, Default)]
pub struct LastMessage {
    message: Option<String>,
    /// The result of the turn, which some agents report separately from the messages.
    result: Option<String>,
}

impl LastMessage {
    /// Takes note of an event.
    pub fn see(&mut self, event: &Event) {
        if event.thread.is_some() {
            return;
        }
        match &event.body {
            // Work that ends in the background opens a turn too, and may have nothing to add to the answer.
            EventBody::TurnStarted(turn) if turn.origin != Origin::Background => *self = Self::default(),
            EventBody::ItemCompleted(item) if item.status != Status::Superseded => {
                if let Details::AgentMessage(message) = &item.details
                    && !message.text.trim().is_empty()
                {
                    self.message = Some(message.text.clone());
                }
            }
            EventBody::TurnCompleted(turn) => self.result.clone_from(&turn.result),
            _ => {}
        }
    }

    /// The text, as the agent gave it.
    pub fn text(&self) -> Option<&str> {
        self.result.as_deref().or(self.message.as_deref())
    }

    /// The turn's own answer is what the last message said.
    pub fn is_said_twice(&self) -> bool {
        self.result == self.message
    }
}
