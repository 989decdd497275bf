//! The agent's answer, computed directly from the events: every dialect that streams text must add up to it.

use std::collections::HashMap;

use switchboard_event::{Delta, Details, Event, EventBody, Field, Id, Item, Status};

/// The text on the main thread, if it is well defined.
#[derive(Debug, PartialEq, Eq)]
pub enum AnswerText {
    Text(String),
    /// Not determined by the completed items alone, with the reason.
    Unclear(&'static str),
}

#[derive(Default)]
struct GrowingMessage {
    text: String,
    odd: bool,
}

/// Returns the text of all completed messages of the main thread, in order, without superseded ones. It is unclear if
/// messages were truncated, written concurrently, or ended differently than they grew, or if a turn has its own result.
#[must_use]
pub fn answer_text(events: &[Event]) -> AnswerText {
    let (mut open, mut text) = (HashMap::<&Id, GrowingMessage>::new(), String::new());
    for event in events.iter().filter(|event| event.thread.is_none()) {
        if matches!(&event.body, EventBody::TurnCompleted(turn) if turn.result.is_some()) {
            return AnswerText::Unclear("a turn answers beside its messages");
        }
        let Some(id) = &event.item else { continue };
        match &event.body {
            EventBody::ItemStarted(item) => {
                if let Some(said) = message_text(item) {
                    if !open.is_empty() {
                        return AnswerText::Unclear("two messages are written at the same time");
                    }
                    open.insert(id, GrowingMessage { text: said.to_owned(), odd: false });
                }
            }
            EventBody::ItemDelta(delta) => {
                if let Some(growing) = open.get_mut(id) {
                    growing.apply_delta(delta);
                }
            }
            EventBody::ItemCompleted(item) => match (open.remove(id), message_text(item)) {
                // What was taken back is not part of the answer.
                (Some(_), Some(_)) if item.status == Status::Superseded => {}
                (Some(growing), Some(said)) => {
                    if let Some(why) = growing.unclear_reason(item, said) {
                        return AnswerText::Unclear(why);
                    }
                    text.push_str(said);
                }
                (None, None) => {}
                _ => return AnswerText::Unclear("an item became a message or ceased to be one"),
            },
            _ => {}
        }
    }
    AnswerText::Text(text)
}

impl GrowingMessage {
    fn apply_delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Append { field: Field::Text, text, .. } => self.text.push_str(text),
            Delta::Append { .. } => self.odd = true,
            Delta::Set { patch } => self.odd |= message_text(patch).is_none_or(|said| !said.is_empty()),
            Delta::Progress { .. } => {}
        }
    }

    fn unclear_reason(&self, item: &Item, said: &str) -> Option<&'static str> {
        let cut = matches!(&item.details, Details::AgentMessage(message) if message.truncated);
        match () {
            () if cut => Some("a message is longer than what is kept"),
            () if self.odd => Some("a message was set"),
            () if !said.starts_with(&self.text) => Some("a message ended as something else than it grew to"),
            () => None,
        }
    }
}

fn message_text(item: &Item) -> Option<&str> {
    match &item.details {
        Details::AgentMessage(message) => Some(&message.text),
        _ => None,
    }
}
