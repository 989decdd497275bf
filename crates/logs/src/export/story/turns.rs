//! Which turn an event belongs to: each thing that a person asks begins one, also in the middle of another. Counted from
//! 1, the same wherever a turn is named.

use switchboard_event::{Body, Details, Event};

/// Counts turns.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    count: u32,
    /// What a turn began with, which the agent may say again as a message.
    expected: Option<String>,
}

impl Turns {
    /// The prompt that an event begins a turn with, if it does.
    pub fn begins(&mut self, event: &Event) -> Option<String> {
        if event.thread.is_some() || event.parent.is_some() {
            return None;
        }
        let prompt = match &event.body {
            Body::TurnStarted(turn) => {
                self.expected.clone_from(&turn.prompt);
                turn.prompt.clone()
            }
            Body::ItemCompleted(item) => match &item.details {
                Details::UserMessage(message) if !message.synthetic => {
                    let text = message.joined();
                    let is_new = self.expected.take_if(|expected| *expected == text).is_none();
                    is_new.then_some(text)
                }
                _ => None,
            },
            _ => None,
        };
        let prompt = prompt.filter(|prompt| !prompt.trim().is_empty())?;
        self.count += 1;
        Some(prompt)
    }

    /// The turn that it is now; 0 before the first.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.count
    }
}
