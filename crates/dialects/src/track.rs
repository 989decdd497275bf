//! What projections have to remember: which items are open, how much of their text was sent, what a turn used.

use foldhash::HashMap;
use serde::{Deserialize, Serialize};
use switchboard_event::{Body, Delta, Details, Event, Field, Id, Item, Usage};

/// The open items of a session, as far as a dialect needs them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Track {
    items: HashMap<Id, Tracked>,
}

/// An open item.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tracked {
    /// The item as it began, or as it was last set; its text is not kept here.
    pub item: Item,
    /// The field whose text is shown: the first that grew.
    pub field: Option<Field>,
    /// How many bytes of that field were sent.
    pub sent: usize,
    /// The last piece that was sent.
    last: String,
}

impl Track {
    /// Takes note of an item event. Call it first; on completion the item stays until [`Track::finish`].
    pub fn see(&mut self, event: &Event) {
        let Some(id) = &event.item else { return };
        match &event.body {
            Body::ItemStarted(item) => {
                let tracked = Tracked { item: (**item).clone(), field: None, sent: 0, last: String::new() };
                self.items.insert(id.clone(), tracked);
            }
            Body::ItemDelta(Delta::Set { patch }) => {
                if let Some(tracked) = self.items.get_mut(&**id) {
                    tracked.item = (**patch).clone();
                }
            }
            _ => {}
        }
    }

    /// An open item.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Tracked> {
        self.items.get(id)
    }

    /// Takes an item out: it is finished.
    pub fn finish(&mut self, id: &str) -> Option<Tracked> {
        self.items.remove(id)
    }

    /// Takes note of an appended text, and says of which item.
    pub fn grew(&mut self, id: &str, field: Field, text: &str) -> Option<Grown<'_>> {
        let tracked = self.items.get_mut(id)?;
        let shown = *tracked.field.get_or_insert(field) == field;
        if shown {
            tracked.sent += text.len();
            tracked.last.clear();
            tracked.last.push_str(text);
        }
        Some(Grown { item: &tracked.item, shown })
    }
}

/// An item that grew.
pub struct Grown<'a> {
    /// The item.
    pub item: &'a Item,
    /// The text is to be shown: of an item whose text and summary both grow, the first to grow is shown and the
    /// other is not, so that nothing is said twice.
    pub shown: bool,
}

impl Tracked {
    /// Of a finished text, what was not sent yet. Nothing, if it does not go on where the pieces stopped: an agent
    /// may join them in another way than it sent them.
    #[must_use]
    pub fn rest<'a>(&self, whole: &'a str) -> &'a str {
        match whole.split_at_checked(self.sent) {
            Some((sent, rest)) if sent.ends_with(&self.last) => rest,
            _ => "",
        }
    }
}

/// The text of an item that is shown as text, by the field that grew if one did.
#[must_use]
pub fn text_of(item: &Item, grew: Option<Field>) -> &str {
    match &item.details {
        Details::AgentMessage(message) => &message.text,
        Details::Reasoning(reasoning) => {
            let (text, summary) = (reasoning.text.as_deref(), reasoning.summary.as_deref());
            match grew {
                Some(Field::Summary) => summary,
                Some(_) => text,
                None => text.filter(|t| !t.is_empty()).or(summary),
            }
            .unwrap_or_default()
        }
        _ => "",
    }
}

/// What a turn used: the sum of all that is not a running total of unknown base.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnUsage {
    total: Usage,
}

impl TurnUsage {
    /// Adds the figures of an event, if it has any.
    pub fn see(&mut self, event: &Event) {
        if let Body::Usage(usage) = &event.body
            && !usage.cumulative
        {
            self.total.add(usage);
        }
    }

    /// The sum so far; counting begins anew.
    pub fn take(&mut self) -> Usage {
        std::mem::take(&mut self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::Tracked;
    use switchboard_event::{AgentMessage, Item};

    #[test]
    fn the_rest_goes_on_where_the_pieces_stopped() {
        for (pieces, whole, rest) in [
            (&["a", "b"][..], "abc", "c"),
            (&[], "abc", "abc"),
            (&["one", "two"], "one\n\ntwo", ""),
            (&["abc"], "ab", ""),
            (&["a"], "é", ""),
        ] {
            let tracked = Tracked {
                item: Item::new(AgentMessage::default()),
                field: None,
                sent: pieces.concat().len(),
                last: pieces.last().copied().unwrap_or_default().to_owned(),
            };
            assert_eq!(tracked.rest(whole), rest, "{pieces:?} of {whole}");
        }
    }
}
