//! Assigns events to turns. Every user prompt begins a turn, even during another one. Turns are counted from 1, and the
//! numbers are the same everywhere.

use switchboard_event::{Details, Event, EventBody};

/// Counts turns.
#[derive(Clone, Debug, Default)]
pub struct TurnCounter {
    count: u32,
    /// The prompt of the current turn, which the agent may repeat as a message.
    expected: Option<String>,
}

impl TurnCounter {
    /// Returns the prompt if the event begins a turn.
    pub fn begin_turn(&mut self, event: &Event) -> Option<String> {
        if event.thread.is_some() || event.parent.is_some() {
            return None;
        }
        let prompt = match &event.body {
            EventBody::TurnStarted(turn) => {
                self.expected.clone_from(&turn.prompt);
                turn.prompt.clone()
            }
            EventBody::ItemCompleted(item) => match &item.details {
                Details::UserMessage(message) if !message.synthetic => {
                    let text = message.joined_text();
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

    /// Returns the number of the current turn; 0 before the first.
    #[must_use]
    pub fn turn_number(&self) -> u32 {
        self.count
    }
}
