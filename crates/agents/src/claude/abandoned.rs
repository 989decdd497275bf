//! Text that was shown and is void because its stream broke off. Claude Code asks the model again, and most often the
//! same words come again under another id: the item goes on where they do, so that no word is said twice. Where other
//! words come, or none, the item is superseded.

use switchboard_event::{Details, Id, Status};

use super::stream::Shown;
use crate::Scribe;

/// Items of replies that broke off. They stay open until the words come again, or others do.
#[derive(Default)]
pub struct AbandonedItems(Vec<(Id, Shown)>);

impl AbandonedItems {
    /// The reply that this item belongs to broke off.
    pub fn push(&mut self, item: Id, kind: Shown, scribe: &Scribe) {
        self.0.retain(|(known, _)| scribe.item_is_open(known));
        self.0.push((item, kind));
    }

    /// Takes the item that a new block of this kind may repeat.
    pub fn take(&mut self, kind: Shown, scribe: &Scribe) -> Option<Id> {
        let index = self.0.iter().position(|(item, shown)| *shown == kind && scribe.item_is_open(item))?;
        Some(self.0.remove(index).0)
    }

    /// Takes the item that this text begins with. Others of its kind are void.
    pub fn take_beginning_of(&mut self, kind: Shown, text: &str, scribe: &mut Scribe) -> Option<Id> {
        while let Some(item) = self.take(kind, scribe) {
            if text.starts_with(&shown_text(&item, scribe)) {
                return Some(item);
            }
            scribe.item_closed(&item, Status::Superseded);
        }
        None
    }

    /// Nothing repeats them any more.
    pub fn supersede_all(&mut self, scribe: &mut Scribe) {
        for (item, _) in self.0.drain(..) {
            scribe.item_closed(&item, Status::Superseded);
        }
    }
}

/// What was shown of an item that is open.
pub fn shown_text(item: &str, scribe: &Scribe) -> String {
    match scribe.item(item).map(|item| &item.details) {
        Some(Details::AgentMessage(message)) => message.text.clone(),
        Some(Details::Reasoning(reasoning)) => reasoning.text.clone().unwrap_or_default(),
        _ => String::new(),
    }
}

/// How new words continue a text of which some were repeated.
#[derive(Debug, PartialEq, Eq)]
pub enum Repetition<'a> {
    /// All were shown.
    Known,
    /// These were not shown, and all before them were.
    Longer(&'a str),
    /// Other words were shown.
    Differs,
}

/// Compares new words with what was shown behind the first `repeated` bytes.
pub fn compare_repetition<'a>(shown: &str, repeated: usize, words: &'a str) -> Repetition<'a> {
    let Some(ahead) = shown.get(repeated..) else { return Repetition::Differs };
    match words.strip_prefix(ahead) {
        Some("") => Repetition::Known,
        Some(new) => Repetition::Longer(new),
        None if ahead.starts_with(words) => Repetition::Known,
        None => Repetition::Differs,
    }
}

#[cfg(test)]
mod tests {
    use super::{Repetition, compare_repetition};

    #[test]
    fn words_that_were_shown_are_told_from_new_ones() {
        for (repeated, words, expected) in [
            (0, "one", Repetition::Known),
            (0, "one two", Repetition::Known),
            (3, " two", Repetition::Known),
            (3, " two three", Repetition::Longer(" three")),
            (7, " three", Repetition::Longer(" three")),
            (0, "once", Repetition::Differs),
            (3, "two", Repetition::Differs),
            (99, "", Repetition::Differs),
        ] {
            assert_eq!(compare_repetition("one two", repeated, words), expected, "{repeated} {words}");
        }
    }
}
