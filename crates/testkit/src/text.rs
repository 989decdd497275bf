//! The agent's answer, read straight from the events: what every dialect that streams text must add up to.

use std::collections::HashMap;

use switchboard_event::{Body, Delta, Details, Event, Field, Id, Item, Status};

/// What was said on the main thread, if that is clear.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// This.
    Text(String),
    /// It cannot be told from the finished items alone, and why.
    Unclear(&'static str),
}

/// A message on the main thread that is being written.
#[derive(Default)]
struct Growing {
    text: String,
    odd: bool,
}

/// The answer: the text of all finished messages of the main thread, in their order. Unclear where messages were
/// taken back, cut off, written at the same time, or ended as something else than they grew to, and where a turn has an
/// answer of its own.
#[must_use]
pub fn answer(events: &[Event]) -> Answer {
    let (mut open, mut text) = (HashMap::<&Id, Growing>::new(), String::new());
    for event in events.iter().filter(|event| event.thread.is_none()) {
        if matches!(&event.body, Body::TurnCompleted(turn) if turn.result.is_some()) {
            return Answer::Unclear("a turn answers beside its messages");
        }
        let Some(id) = &event.item else { continue };
        match &event.body {
            Body::ItemStarted(item) => {
                if let Some(said) = said(item) {
                    if !open.is_empty() {
                        return Answer::Unclear("two messages are written at the same time");
                    }
                    open.insert(id, Growing { text: said.to_owned(), odd: false });
                }
            }
            Body::ItemDelta(delta) => {
                if let Some(growing) = open.get_mut(id) {
                    growing.grow(delta);
                }
            }
            Body::ItemCompleted(item) => match (open.remove(id), said(item)) {
                (Some(growing), Some(said)) => {
                    if let Some(why) = growing.doubt(item, said) {
                        return Answer::Unclear(why);
                    }
                    text.push_str(said);
                }
                (None, None) => {}
                _ => return Answer::Unclear("an item became a message or ceased to be one"),
            },
            _ => {}
        }
    }
    Answer::Text(text)
}

impl Growing {
    fn grow(&mut self, delta: &Delta) {
        match delta {
            Delta::Append { field: Field::Text, text, .. } => self.text.push_str(text),
            Delta::Append { .. } => self.odd = true,
            Delta::Set { patch } => self.odd |= said(patch).is_none_or(|said| !said.is_empty()),
            Delta::Progress { .. } => {}
        }
    }

    fn doubt(&self, item: &Item, said: &str) -> Option<&'static str> {
        let cut = matches!(&item.details, Details::AgentMessage(message) if message.truncated);
        match () {
            () if item.status == Status::Superseded => Some("a message was taken back"),
            () if cut => Some("a message is longer than what is kept"),
            () if self.odd => Some("a message was set"),
            () if !said.starts_with(&self.text) => Some("a message ended as something else than it grew to"),
            () => None,
        }
    }
}

fn said(item: &Item) -> Option<&str> {
    match &item.details {
        Details::AgentMessage(message) => Some(&message.text),
        _ => None,
    }
}
