//! What the agent says and thinks. It comes in increments and once more as a whole, and is written once.

use switchboard_event::{AgentMessage, Details, Field, Id, Item, Reasoning};

use crate::Scribe;

/// Who is to hear it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// The user.
    Answer,
    /// Nobody.
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

/// Something begins to be said.
pub fn begin(id: &Id, voice: Voice, reply: Option<&Id>, scribe: &mut Scribe) {
    scribe.item_started(id, Item { reply: reply.cloned(), ..voice.item("") });
}

/// More of it.
pub fn grow(id: &str, text: &str, scribe: &mut Scribe) -> bool {
    scribe.item_append(&Id::from(id), Field::Text, 0, text)
}

/// All of it so far: what is new is added, and what was said differently is said again.
pub fn whole(id: &Id, voice: Voice, text: &str, reply: Option<&Id>, scribe: &mut Scribe) {
    if !scribe.item_is_open(id) {
        begin(id, voice, reply, scribe);
    }
    let Some(known) = known(id, scribe) else { return };
    if let Some(rest) = text.strip_prefix(known) {
        if !rest.is_empty() {
            grow(id, rest, scribe);
        }
    } else if !known.starts_with(text) {
        scribe.item_set(id, Item { reply: reply.cloned(), ..voice.item(text) });
    }
}

/// It is said. An end that does not repeat what was said leaves it as it is.
pub fn end(id: &Id, voice: Voice, text: &str, reply: Option<&Id>, took: Option<u64>, scribe: &mut Scribe) {
    let mut item = Item { reply: reply.cloned(), duration_ms: took, ..voice.item(text) };
    if text.is_empty()
        && let Some(open) = scribe.item(id)
    {
        item.details = open.details.clone();
    }
    scribe.item_completed(id, item);
}

/// What was said so far, if all of it is kept.
fn known<'a>(id: &str, scribe: &'a Scribe) -> Option<&'a str> {
    match &scribe.item(id)?.details {
        Details::AgentMessage(message) if !message.truncated => Some(&message.text),
        Details::Reasoning(reasoning) if !reasoning.truncated => Some(reasoning.text.as_deref().unwrap_or_default()),
        _ => None,
    }
}
