//! Text and reasoning of the agent. It arrives in increments and once more as a whole, and is written once.

use switchboard_event::{AgentMessage, Details, Field, Id, Item, Reasoning};

use crate::RunRecorder;

/// Kind of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// Part of the answer to the user.
    Answer,
    /// Reasoning of the model.
    Thought,
}

impl Voice {
    fn item(self, text: &str) -> Item {
        match self {
            Self::Answer => Item::new(AgentMessage::text(text)),
            Self::Thought => {
                let text = Some(text.to_owned()).filter(|text| !text.is_empty());
                Item::new(Reasoning { text, ..Reasoning::default() })
            }
        }
    }
}

pub fn begin(id: &Id, voice: Voice, reply: Option<&Id>, recorder: &mut RunRecorder) {
    recorder.item_started(id, Item { reply: reply.cloned(), ..voice.item("") });
}

pub fn grow(id: &str, text: &str, recorder: &mut RunRecorder) -> bool {
    recorder.item_append(&Id::from(id), Field::Text, 0, text)
}

/// Updates the text to its current state: appends the new part, or replaces a text that changed.
pub fn whole(id: &Id, voice: Voice, text: &str, reply: Option<&Id>, recorder: &mut RunRecorder) {
    if !recorder.item_is_open(id) {
        begin(id, voice, reply, recorder);
    }
    let Some(known) = known(id, recorder) else { return };
    if let Some(rest) = text.strip_prefix(known) {
        if !rest.is_empty() {
            grow(id, rest, recorder);
        }
    } else if !known.starts_with(text) {
        recorder.item_set(id, Item { reply: reply.cloned(), ..voice.item(text) });
    }
}

/// Completes a text. An end event without text leaves the known text unchanged.
pub fn end(id: &Id, voice: Voice, text: &str, reply: Option<&Id>, took: Option<u64>, recorder: &mut RunRecorder) {
    let mut item = Item { reply: reply.cloned(), duration_ms: took, ..voice.item(text) };
    if text.is_empty()
        && let Some(open) = recorder.open_item(id)
    {
        item.details = open.details.clone();
    }
    recorder.item_completed(id, item);
}

/// Returns the text so far, unless it was truncated.
fn known<'a>(id: &str, recorder: &'a RunRecorder) -> Option<&'a str> {
    match &recorder.open_item(id)?.details {
        Details::AgentMessage(message) if !message.truncated => Some(&message.text),
        Details::Reasoning(reasoning) if !reasoning.truncated => Some(reasoning.text.as_deref().unwrap_or_default()),
        _ => None,
    }
}
